// What the templates of email and of the page for forgotten passwords get.
import * as z from 'zod';
import { Text, Url } from '../../views/shared-models.ts';

/** What happened to the account of its reader. link_made: by an administrator. */
export const NOTICES = [
  'new_browser',
  'password_changed',
  'factor_added',
  'authenticator_replaced',
  'factor_removed',
  'recovery_code_used',
  'recovery_codes_made',
  'codes_failed',
  'passwords_failed',
  'disabled',
  'link_made',
] as const;

/** An email. */
export const letter = z.discriminatedUnion('kind', [
  z.object({ kind: z.enum(['reset', 'invite']), username: Text, link: Url }),
  /** elsewhere: the password isn't managed here. test: by an administrator. */
  z.object({ kind: z.enum(['elsewhere', 'test']), username: Text }),
  z.object({
    kind: z.enum(NOTICES),
    username: Text,
    /** When it was (epoch seconds). */
    at: z.number(),
    /** "Firefox, Linux" and the network of its address; empty where they aren't known. */
    browser: Text,
    network: Text,
    /** The account page, where there is one. */
    link: Url.optional(),
  }),
]);
export type LetterModel = z.infer<typeof letter>;

/** The page at /forgot. */
export const forgot = z.discriminatedUnion('outcome', [
  /** Its field is called `username`. */
  z.object({ outcome: z.literal('ask'), action: Url, csrf: Text }),
  /** The same for every name. */
  z.object({ outcome: z.literal('sent') }),
]);
