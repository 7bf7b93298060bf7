// Signing in with more than a password: passkeys, one-time codes, recovery codes, and what an app or everybody needs. Off without sign_in.
import * as z from 'zod';
import { group } from '../../config/camel-keys.ts';
import { FACTORS_PATH, PAGE } from '../../config/endpoint-rows.ts';
import { DAY, duration, MINUTE } from '../../config/notation.ts';
import type { Rule } from '../../config/rules.ts';
import { Url } from '../../views/shared-models.ts';
import type { Declaration } from '../feature.ts';
import { enrol, factorNeeded, factors, MethodModel, notice, secondStep } from './models.ts';

const MOST_RECOVERY_CODES = 20;

const signInSchema = group({
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

const clientSignInSchema = group({
  require: z
    .enum(['second_factor', 'passkey'])
    .describe('What everybody needs who signs in to this app. passkey: one that verified its user.'),
  max_age: duration({ min: MINUTE })
    .optional()
    .describe('How old the second factor may be when a sign-in begins; a refresh is none.'),
});

type OfService = { readonly sign_in?: z.output<typeof signInSchema> | undefined };
type OfClient = { readonly sign_in?: z.output<typeof clientSignInSchema> | undefined };

const hasMethod: Rule<OfService, unknown> = {
  at: 'sign_in',
  fault: ({ sign_in: signIn }) =>
    signIn &&
    !signIn.passkeys &&
    !signIn.oneTimeCodes &&
    (signIn.secondFactor === 'required' || signIn.recoveryCodes > 0)
      ? 'second_factor: required and recovery_codes need passkeys or one_time_codes'
      : undefined,
};

const isReachable: Rule<OfClient, { readonly offered: readonly string[] }> = {
  at: 'sign_in',
  fault: ({ sign_in: signIn }, { offered }) =>
    signIn === undefined || offered.includes(signIn.require)
      ? undefined
      : `no user could sign in to this app: no method in sign_in reaches ${signIn.require}`,
};

export const secondFactors = {
  name: 'second-factors',
  service: {
    sign_in: signInSchema
      .optional()
      .describe(
        'Passkeys and second factors. Absent: people sign in by password alone, and tokens have neither acr nor amr.',
      ),
  },
  client: {
    sign_in: clientSignInSchema.optional().describe('What a sign-in to this app needs besides a password.'),
  },
  serviceRules: [hasMethod],
  clientRules: [isReachable],
  endpoints: [
    { ...PAGE, name: 'factors', path: FACTORS_PATH, methods: ['GET'] },
    { ...PAGE, name: 'factors', path: `${FACTORS_PATH}/callback`, methods: ['GET'], isCallback: true },
    { ...PAGE, name: 'factors', path: `${FACTORS_PATH}/:change`, methods: ['POST'] },
  ],
  audit: ['second_factor', 'factor_changed'],
  pages: { 'second-step': secondStep, 'factor-needed': factorNeeded, notice, enrol, factors },
  /** The page for passkeys, codes and recovery codes, while they are on, and the methods that are on. */
  sections: { factorsUrl: Url.optional(), methods: z.array(MethodModel).readonly().optional() },
  isOn: ({ signIn }: { readonly signIn?: unknown }) => signIn !== undefined,
} as const satisfies Declaration;
