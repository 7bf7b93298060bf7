// The model of the page that shows what the demo app received. `startUrl` begins a sign-in.
import * as z from 'zod';
import { Text as text, Url as url } from '../../views/shared-models.ts';

export const tryModel = z.discriminatedUnion('outcome', [
  z.object({
    outcome: z.enum(['ready', 'stale']),
    startUrl: url,
    /** The demo user, while it exists. */
    person: z.object({ username: text, password: text }).optional(),
  }),
  z.object({ outcome: z.literal('refused'), startUrl: url, error: text }),
  z.object({
    outcome: z.literal('signed_in'),
    startUrl: url,
    sections: z.array(z.object({ title: text, text })).readonly(),
  }),
]);
