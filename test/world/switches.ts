// What the features of this source can switch on.
import * as z from 'zod';
import { fold } from '../../src/features/index.ts';
import { isShipped } from './shipped.ts';

/** Each key below `features`, with all that it can have. */
export const ALL_ON: Readonly<Record<string, unknown>> = Object.fromEntries(
  Object.entries<z.ZodType>({ ...fold('switches') }).map(([key, schema]) => {
    const { items } = z.toJSONSchema(schema, { io: 'input' });
    return [key, typeof items === 'object' && 'enum' in items ? items.enum : true];
  }),
);

/** The key of email, where it is shipped. */
export const MAIL_ON = isShipped('mail')
  ? { mail: { from: 'no-reply@acme.example', server: 'folder:mail', sign_up: { domains: 'any' } } }
  : {};
