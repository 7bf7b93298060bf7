// Adds factors to a user, from the forms of any page, and updates their sessions and notices. The caller decides whether the user may: with
// a link from an administrator, or after a recent sign-in.
import type { App } from '../../oidc/app.ts';
import type { SignInSettings } from '../../config/config.ts';
import type { Form } from '../../interaction/form.ts';
import type { Proof } from './proofs.ts';
import { type Factors, hasSecondFactor, type Method } from '../../users/factors.ts';
import { withNotice } from './notices.ts';
import type { createOneTimeCodes } from './one-time-codes.ts';
import { newRecoveryCode, recoveryCodeHash } from './recovery-codes.ts';
import type { Actor, ActsParts } from '../../users/acts.ts';
import type { EnrolmentModel } from '../../views/shared-models.ts';
import { noteFactor } from './factor-acts.ts';
import { MAX_PASSKEYS, type PasskeyRegistration } from './passkeys.ts';

const MAX_NAME = 64;

/** ended: the link is used up. not_first: the user has added a first factor meanwhile, or has too many passkeys. */
type EnrolmentFault = 'wrong_code' | 'passkey_refused' | 'not_first' | 'ended';

export type Enrolled = Readonly<{
  what: 'factor_added' | 'authenticator_replaced';
  method: Method;
  proof: Proof;
  factors: Factors;
}>;

type EnrolmentFor = Readonly<{
  id: string;
  /** The same as for the form. */
  binding: string;
  isFirst: boolean;
  /** Requires a passkey with user verification: the user has no password, or the app requires one. */
  mustVerifyUser?: boolean | undefined;
  /** The session used a recovery code: at first, a factor that it adds proves no more than that. */
  isRecovered?: boolean;
  /** The uid of the session, if it continues. */
  by?: string | undefined;
}>;

type Owner = Pick<EnrolmentFor, 'id' | 'mustVerifyUser'> & { readonly username: string };

/** Uses up the link. False: it has ended. */
type Accept = () => Promise<boolean>;

/** Converts a name to one line, as the page shows it. */
const nameOf = (typed: string) =>
  Array.from(
    typed
      .normalize('NFC')
      .replaceAll(/[\p{C}\p{Z}]+/gu, ' ')
      .trim(),
  )
    .slice(0, MAX_NAME)
    .join('');

const isRefused = ({ isFirst }: EnrolmentFor, before: Factors, { passkeys = [] }: Partial<Factors>) =>
  (isFirst && hasSecondFactor(before)) || passkeys.length > MAX_PASSKEYS;

type EnrolmentParts = App &
  Readonly<{
    signIn: NonNullable<SignInSettings>;
    codes: ReturnType<typeof createOneTimeCodes>;
    /** Undefined while passkeys are off. */
    passkeys: PasskeyRegistration | undefined;
  }>;

function createAdd({ factors, now }: EnrolmentParts) {
  /** The first factor ends sessions in other browsers, which didn't use one. Replacing one-time codes ends them, too. */
  return async function add(
    of: EnrolmentFor,
    { method, proof }: Pick<Enrolled, 'method' | 'proof'>,
    to: (before: Factors, mark: { readonly recovered?: true }) => Partial<Factors> | undefined,
  ): Promise<Enrolled | undefined> {
    let [isRecovery, what]: [boolean, Enrolled['what']] = [false, 'factor_added'];
    const at = Math.floor(now() / 1000);
    const changed = await factors.change(of.id, (before) => {
      const hadOne = hasSecondFactor(before);
      // A user who had factors before and has none now has lost them.
      isRecovery = of.isRecovered === true || (!hadOne && before.sessionsSince > 0);
      const added = to(before, isRecovery ? { recovered: true } : {});
      if (added === undefined || isRefused(of, before, added)) return undefined;
      const isReplaced = added.oneTimeCode !== undefined && before.oneTimeCode !== undefined;
      what = isReplaced ? 'authenticator_replaced' : 'factor_added';
      return {
        ...added,
        sessionsSince: before.sessionsSince + (hadOne && !isReplaced ? 0 : 1),
        notices: withNotice(before.notices, { what, at, method, by: of.by }),
      };
    });
    return changed && { what, method, proof: isRecovery ? 'recovery_code' : proof, factors: changed };
  };
}

type Enrolment = ReturnType<typeof createEnrolment>;
export type NewFactor = Partial<Awaited<ReturnType<Enrolment['begin']>>>;

export function createEnrolment(parts: EnrolmentParts) {
  const { signIn, factors, codes, passkeys, hash, now } = parts;
  const add = createAdd(parts);

  async function addCode(of: EnrolmentFor, { field }: Form, accept: Accept) {
    const sent = { sealed: field('sealed'), typed: field('code'), at: now() };
    const oneTimeCode = await codes.confirm(of.id, sent);
    if (oneTimeCode === undefined) return 'wrong_code';
    if (!(await accept())) return 'ended';
    const proved = { method: 'one_time_code', proof: 'one_time_code' } as const;
    const added = await add(of, proved, (_, mark) => ({ oneTimeCode: { ...oneTimeCode, ...mark } }));
    return added ?? 'not_first';
  }

  async function addPasskey(of: EnrolmentFor, { field }: Form, accept: Accept) {
    const { id: accountId, binding, mustVerifyUser = false } = of;
    const [response, handle] = [field('response'), field('handle')];
    const made = await passkeys?.register({ accountId, binding, response, handle, mustVerifyUser });
    if (made === undefined || 'refused' in made) return 'passkey_refused';
    if (!(await accept())) return 'ended';
    const passkey = { ...made.passkey, name: nameOf(field('name')) };
    const proof = { passkey: { verifiedUser: passkey.verifiesUser, synced: passkey.synced } };
    let isOwn = false;
    const added = await add(
      of,
      { method: 'passkey', proof },
      ({ handle: ownHandle = handle, passkeys: own }, mark) => {
        // The form was sent twice.
        isOwn = own.some(({ id }) => id === passkey.id);
        return isOwn ? undefined : { handle: ownHandle, passkeys: [...own, { ...passkey, ...mark }] };
      },
    );
    if (added === undefined && !isOwn) await factors.releaseCredential(passkey.id);
    return added ?? 'not_first';
  }

  return {
    /** Prepares the form for a new factor. `pending`: the sealed secret of a form whose code was wrong. */
    async begin(user: Owner, binding: string, pending?: string) {
      const made = signIn.oneTimeCodes ? await codes.make(user.id, user.username, pending) : undefined;
      return {
        oneTimeCode: made,
        passkey: passkeys?.creationOptions(binding, user, await factors.get(user.id)),
      };
    },

    /** Adds the factor of a form with `sealed` and `code`, or `response`, `handle` and `name`. Calls `accept` once these are right. */
    async add(of: EnrolmentFor, form: Form, accept: Accept): Promise<Enrolled | EnrolmentFault> {
      const isCode = methodIn(form) === 'one_time_code' && signIn.oneTimeCodes && of.mustVerifyUser !== true;
      return isCode ? addCode(of, form, accept) : addPasskey(of, form, accept);
    },

    /** Resolves the new codes, which are never shown again. The old ones stop working. */
    async makeRecoveryCodes(accountId: string, by?: string): Promise<readonly string[]> {
      const made = Array.from({ length: signIn.recoveryCodes }, newRecoveryCode);
      const recoveryCodes = made.map((code) => recoveryCodeHash(hash, accountId, code));
      await factors.change(accountId, ({ notices }) => ({
        recoveryCodes,
        notices: withNotice(notices, { what: 'recovery_codes_made', at: Math.floor(now() / 1000), by }),
      }));
      return made;
    },
  };
}

export function toEnrolmentModel(
  { oneTimeCode, passkey }: NewFactor,
  { action, csrf }: Readonly<{ action: string; csrf: string }>,
  error?: EnrolmentModel['error'],
): EnrolmentModel {
  return {
    csrf,
    oneTimeCode: oneTimeCode && { ...oneTimeCode, action },
    passkey: passkey && { ...passkey, action },
    error,
  };
}

/** The method that a form adds, also for the audit trail. */
export const methodIn = (form: Form): Method => (form.field('response') === '' ? 'one_time_code' : 'passkey');

type Sent = Readonly<{ actor: Actor; form: Form; clientId?: string }>;

/** Adds the factor that the form sent, or resolves why not. Calls `accept` once the answer is right. */
export async function addFromForm(
  parts: ActsParts,
  enrolment: Enrolment,
  { actor, form, clientId }: Sent,
  of: EnrolmentFor,
  accept: () => Promise<boolean> = async () => true,
): Promise<Enrolled | EnrolmentFault> {
  const enrolled = await enrolment.add(of, form, accept);
  const [what, reason] =
    typeof enrolled === 'string' ? (['factor_added', enrolled] as const) : [enrolled.what];
  const [account_id, client_id] = [of.id, clientId];
  await noteFactor(parts, actor, { account_id, client_id, what, method: methodIn(form), reason });
  return enrolled;
}
