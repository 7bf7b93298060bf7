// The models of emails, and of the pages where users request them.
import * as z from 'zod';
import { NOTICED } from '../../config/security-events.ts';
import { Text, Url } from '../../views/shared-models.ts';

/** Events of the reader's account. link_made: by an administrator. */
export const NOTICES = [...NOTICED, 'new_browser', 'disabled', 'link_made', 'address_requested'] as const;

/** address: sent to a new address, which it confirms. undo: sent to the old address, to undo the change. */
const PURPOSES = ['address', 'undo'] as const;

export const letter = z.discriminatedUnion('kind', [
  /** new_user: `username` is the address. exists: a user has the address of a sign-up; the link leads to /forgot. */
  z.object({
    kind: z.enum(['reset', 'invite', 'new_user', 'exists', ...PURPOSES]),
    username: Text,
    link: Url,
  }),
  /** elsewhere: the password isn't managed here. test: by an administrator. */
  z.object({ kind: z.enum(['elsewhere', 'test']), username: Text }),
  z.object({
    kind: z.enum(NOTICES),
    username: Text,
    /** When it was (epoch seconds). */
    at: z.number(),
    /** "Firefox, Linux" and the network of its address; empty if they aren't known. */
    browser: Text,
    network: Text,
    /** The account page, if there is one. */
    link: Url.optional(),
  }),
]);
export type LetterModel = z.infer<typeof letter>;

const form = { action: Url, csrf: Text };

const ask = z.object({ outcome: z.literal('ask'), ...form });
/** The same, whatever was typed. */
const sent = z.object({ outcome: z.literal('sent') });

/** The page at /forgot. Its field is called `username`. */
export const forgot = z.discriminatedUnion('outcome', [ask, sent]);

const NameFault = z.enum(['taken', 'invalid']);
/** The page at /sign-up, whose field is called `email`, and that of the emailed link. */
export const signUp = z.discriminatedUnion('outcome', [
  /** `domains`: the domains whose addresses can sign up, unless all can. */
  ask.extend({ domains: z.array(Text).readonly().optional() }),
  sent,
  ask.extend({ outcome: z.literal('name'), email: Text, username: Text, error: NameFault.optional() }),
]);

const outcome = z.enum([...PURPOSES, 'address_done', 'undo_done']);
/** The page of a link in an email, before and after its use. */
export const email = z.object({ outcome, ...form, username: Text, address: Text, nextUrl: Url });

/** On the account page, for users in the store. Its forms post `email`, or `cancel` for the unconfirmed `pending` address. */
export const AddressModel = z
  .object({ action: Url, isVerified: z.boolean(), pending: Text.optional() })
  .optional();
