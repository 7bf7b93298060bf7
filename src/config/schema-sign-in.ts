// The schemas of sign-ins by more than a password: the methods, what everybody and one client requires.
import * as z from 'zod';
import { group } from './camel-keys.ts';
import { DAY, duration, MINUTE } from './notation.ts';

const MOST_RECOVERY_CODES = 20;

export const signInSchema = group({
  passkeys: z
    .boolean()
    .default(false)
    .describe(
      "Passkeys and security keys. They belong to the issuer's host name: under another one every passkey is useless.",
    ),
  one_time_codes: z
    .boolean()
    .default(false)
    .describe('One-time codes of an authenticator app (RFC 6238), as a second factor.'),
  recovery_codes: z
    .int()
    .min(0, 'must not be negative')
    .max(MOST_RECOVERY_CODES, `must be at most ${MOST_RECOVERY_CODES}`)
    .default(0)
    .describe('How many a set has that stands in for a lost second factor, each once. 0: none.'),
  second_factor: z
    .enum(['optional', 'required'])
    .default('optional')
    .describe('required: everybody needs a second factor, once their grace is over.'),
  grace: duration({ min: 0, max: 365 * DAY })
    .prefault('14d')
    .describe('With second_factor: required, the time that a person has from their first sign-in on.'),
  enrolment: z
    .enum(['link', 'self'])
    .default('link')
    .describe(
      'Who lets a person add their first factor: link, an operator by "postern user enrol", or self, the person right after a sign-in.',
    ),
});

export const clientSignInSchema = group({
  require: z
    .enum(['second_factor', 'passkey'])
    .describe('What everybody needs who signs in to this app. passkey: one that verified its user.'),
  max_age: duration({ min: MINUTE })
    .optional()
    .describe('How old the second factor may be when a sign-in begins; a refresh is none.'),
});
