// The models of the pages for second factors.
import * as z from 'zod';
import {
  ClientModel,
  EnrolmentModel,
  ofUser,
  PasskeyModel,
  Text as text,
  Url as url,
} from '../../views/shared-models.ts';

/** The second step: after the right password, or in a session that proved less than the app requires. */
export const secondStep = z.object({
  ...ofUser,
  /** Form target of both codes. */
  action: url,
  csrf: text,
  cancelCsrf: text,
  /** Whether the user has codes of an authenticator app, and recovery codes. */
  oneTimeCode: z.boolean(),
  recoveryCode: z.boolean(),
  passkey: PasskeyModel.optional(),
  error: z
    .enum([
      'wrong_code',
      'wrong_recovery_code',
      'maybe_used',
      'passkey_refused',
      'passkey_required',
      'too_many_attempts',
      'codes_locked',
    ])
    .optional(),
  /** Minutes until another code is accepted, after too_many_attempts. */
  minutes: z.number().optional(),
});

/** The user has no factor that the app requires, and can't add one here. Sent with status 403. */
export const factorNeeded = z.object({ ...ofUser, csrf: text, needed: z.enum(['second_factor', 'passkey']) });

export const NoticeModel = z.object({
  /** The key of its text, without "notice." in front. */
  what: text,
  /** Epoch seconds. */
  at: z.number(),
  /** Recovery codes left. */
  left: z.number().optional(),
});

/** Notices that the user reads before they continue. */
export const notice = z.object({
  client: ClientModel,
  action: url,
  csrf: text,
  username: text,
  notices: z.array(NoticeModel).readonly(),
  /** Sent back with the form: the time of the last notice shown (epoch seconds). */
  until: z.number(),
  factorsUrl: url,
});

/** A user without a factor that the app requires adds one. */
export const enrol = z.object({
  ...ofUser,
  cancelCsrf: text,
  needed: z.enum(['second_factor', 'passkey']),
  enrolment: EnrolmentModel,
});

/** One way to sign in on the account page. */
export const MethodModel = z.object({
  method: z.enum(['passkey', 'one_time_code', 'recovery_codes']),
  isSetUp: z.boolean(),
  /** Recovery codes left. */
  left: z.number().optional(),
  /** Where the user sets it up or manages it; absent if an administrator has to allow it. */
  url: url.optional(),
});

const FactorModel = z.object({
  /** Sent with the form that removes it. */
  id: text,
  method: z.enum(['passkey', 'one_time_code']),
  name: text.optional(),
  /** Epoch seconds. */
  createdAt: z.number(),
  usedAt: z.number().optional(),
  /** It is blocked, because it may have been copied. */
  suspect: z.boolean(),
  /** Absent if it can't be removed now. */
  removeAction: url.optional(),
});

/** The user's page for factors. stale: the sign-in is too old for a change. passkey_needed: it had no passkey. Both have status 403. */
export const factors = z.discriminatedUnion('outcome', [
  z.object({
    outcome: z.literal('list'),
    username: text,
    csrf: text,
    factors: z.array(FactorModel).readonly(),
    /** Undefined while they are off. */
    recoveryCodes: z
      .object({ left: z.number(), /** Absent without a second factor. */ action: url.optional() })
      .optional(),
    /** Absent if the user can't add one here. */
    enrolment: EnrolmentModel.optional(),
    /** The page adds a factor of this method instead of listing factors. */
    adding: z.enum(['passkey', 'one_time_code']).optional(),
    addPasskeyUrl: url.optional(),
    addCodeUrl: url.optional(),
    /** Adding a factor leads to recovery codes, because it is the user's first. */
    codesFollow: z.boolean(),
    /** The list while a factor is added; otherwise the account page, while it is on. */
    backUrl: url.optional(),
    notices: z.array(NoticeModel).readonly(),
    /** Why nothing was changed. */
    error: z.enum(['still_needed', 'not_yours']).optional(),
  }),
  z.object({ outcome: z.literal('codes'), username: text, codes: z.array(text).readonly(), backUrl: url }),
  z.object({ outcome: z.enum(['stale', 'passkey_needed']), signInUrl: url }),
]);
