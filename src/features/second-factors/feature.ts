// Passkeys, one-time codes and recovery codes, and the level that an app or all users require. Off without sign_in.
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
      "Passkeys and security keys. They are bound to the issuer's host name: if it changes, all passkeys stop working.",
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
    .describe(
      'Number of recovery codes per user, which replace a lost second factor. Each works once. 0 turns them off.',
    ),
  second_factor: z
    .enum(['optional', 'required'])
    .default('optional')
    .describe('required: all users need a second factor after the grace period.'),
  grace: duration({ min: 0, max: 365 * DAY })
    .prefault('14d')
    .describe("Grace period of second_factor: required, from the user's first sign-in."),
  enrolment: z
    .enum(['link', 'self'])
    .default('link')
    .describe(
      'How users add their first factor: link, with a link from "postern user enrol"; self, right after a sign-in.',
    ),
});

const clientSignInSchema = group({
  require: z
    .enum(['second_factor', 'passkey'])
    .describe('What users need to sign in to this app. passkey: a passkey with user verification.'),
  max_age: duration({ min: MINUTE })
    .optional()
    .describe(
      "Maximum age of the second factor when a sign-in starts. Refreshing tokens doesn't count as a sign-in.",
    ),
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
      ? 'second_factor: required and recovery_codes require a method: turn on passkeys or one_time_codes'
      : undefined,
};

const isReachable: Rule<OfClient, { readonly offered: readonly string[] }> = {
  at: 'sign_in',
  fault: ({ sign_in: signIn }, { offered }) =>
    signIn === undefined || offered.includes(signIn.require)
      ? undefined
      : `no user could sign in to this app: turn on passkeys${signIn.require === 'passkey' ? '' : ' or one_time_codes'} in the top-level sign_in`,
};

export const secondFactors = {
  name: 'second-factors',
  service: {
    sign_in: signInSchema
      .optional()
      .describe(
        "Passkeys and second factors. Without it, passwords are the only way to sign in, users who already have a second factor can't sign in, and tokens have neither acr nor amr.",
      ),
  },
  client: {
    sign_in: clientSignInSchema
      .optional()
      .describe('What a sign-in to this app requires in addition to a password.'),
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
  /** The page for factors, and the methods that are on. */
  sections: { factorsUrl: Url.optional(), methods: z.array(MethodModel).readonly().optional() },
  isOn: ({ signIn }: { readonly signIn?: unknown }) => signIn !== undefined,
} as const satisfies Declaration;
