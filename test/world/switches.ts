// All features of this source that can be switched on.
import * as z from 'zod';
import { fold } from '../../src/features/index.ts';
import { isShipped } from './shipped.ts';

/** Each key below `features`, with all options that it can have. */
export const ALL_ON: Readonly<Record<string, unknown>> = Object.fromEntries(
  Object.entries<z.ZodType>({ ...fold('switches') }).map(([key, schema]) => {
    const { items } = z.toJSONSchema(schema, { io: 'input' });
    return [key, typeof items === 'object' && 'enum' in items ? items.enum : true];
  }),
);

/** The configuration of email, if the feature is shipped. */
export const MAIL_ON = isShipped('mail')
  ? { mail: { from: 'no-reply@acme.example', server: 'folder:mail', sign_up: { domains: 'any' } } }
  : {};
