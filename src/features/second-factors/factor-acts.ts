// Changes to a user's factors, by the user or an administrator, except adding one (enrolment.ts).
import type { SignInSettings } from '../../config/config.ts';
import type { Level } from '../../config/sign-in-levels.ts';
import type { AuditFields } from '../../observability/audit.ts';
import {
  type ActsParts,
  type Actor,
  noteChange,
  noteInActivity,
  recordAct,
  voidAll,
} from '../../users/acts.ts';
import { type Amr, hasKey, levelOf } from '../../users/authentication-methods.ts';
import { isRecovered } from './proofs.ts';
import {
  canReach,
  type Factors,
  type FactorStore,
  hasSecondFactor,
  isProvisional,
  type Method,
} from '../../users/factors.ts';
import { newUserEvent } from '../../users/user-events.ts';
import type { SecurityEvent } from '../../users/user-index.ts';
import { withNotice } from './notices.ts';

type FactorNote = Pick<AuditFields, 'client_id' | 'method' | 'reason'> & {
  readonly account_id: string;
  readonly what: SecurityEvent['what'];
};

/** Records a change and, if it succeeded, adds it to the user's activity. `reason`: why it failed. */
export async function noteFactor(
  parts: ActsParts,
  actor: Actor,
  { what, ...fields }: FactorNote,
): Promise<void> {
  const outcome = fields.reason === undefined ? 'success' : 'failure';
  const action = what.slice(what.lastIndexOf('_') + 1);
  recordAct(parts, actor, ['factor_changed', outcome], { ...fields, action });
  if (outcome === 'success') await noteInActivity(parts, actor, fields.account_id, { what });
}

export const ONE_TIME_CODES = 'one-time-codes';

type Removal = Readonly<{
  accountId: string;
  /** The ID of a passkey, or ONE_TIME_CODES. */
  factorId: string;
  /** Levels that the user must still be able to reach. */
  needed?: readonly Level[] | undefined;
  /** Epoch seconds. */
  at: number;
  /** The session's uid. */
  by?: string | undefined;
}>;

type Left = Pick<Factors, 'passkeys' | 'oneTimeCode'> & { readonly method: Method };

function without({ passkeys, oneTimeCode }: Factors, factorId: string): Left | undefined {
  if (factorId === ONE_TIME_CODES && oneTimeCode !== undefined) {
    return { method: 'one_time_code', passkeys, oneTimeCode: undefined };
  }
  const left = passkeys.filter(({ id }) => id !== factorId);
  return left.length < passkeys.length ? { method: 'passkey', passkeys: left, oneTimeCode } : undefined;
}

/** Ends all sessions of the user; the caller may continue its own. Resolves undefined if the factor was gone. Throws StoreUnavailable. */
export async function removeFactor(
  factors: FactorStore,
  signIn: SignInSettings,
  { accountId, factorId, needed = [], at, by }: Removal,
): Promise<Factors | 'still_needed' | undefined> {
  const reached = (own: Factors, when: number) =>
    needed.filter((level) => canReach(signIn, own, level, when)).length;
  let result: Method | 'still_needed' | undefined;
  const changed = await factors.change(accountId, (before) => {
    const left = without(before, factorId);
    result = left?.method;
    if (left === undefined) return undefined;
    const { method, ...rest } = left;
    // Checked for now and for later: a provisional passkey doesn't count yet, but may be the user's only factor.
    if ([at, Infinity].some((when) => reached({ ...before, ...rest }, when) < reached(before, when))) {
      result = 'still_needed';
      return undefined;
    }
    const notices = withNotice(before.notices, { what: 'factor_removed', at, method, by });
    // Recovery codes replace lost factors. Without any factor left, they must not replace factors that the user adds later.
    const recoveryCodes = hasSecondFactor({ ...before, ...rest }) ? before.recoveryCodes : [];
    return { ...rest, recoveryCodes, sessionsSince: before.sessionsSince + 1, notices };
  });
  if (result === 'passkey') await factors.releaseCredential(factorId);
  return result === 'still_needed' ? result : changed;
}

type LostFactors = Readonly<{
  accountId: string;
  /** Each like `factorId` of Removal. */
  factorIds: readonly string[];
  recoveryCodes: boolean;
}>;

/** Removes factors that a user has lost, for an administrator. */
export async function clearFactors(parts: ActsParts, actor: Actor, lost: LostFactors): Promise<void> {
  const { accountId, factorIds, recoveryCodes } = lost;
  const at = Math.floor(parts.storeNow() / 1000);
  for (const factorId of factorIds) await removeFactor(parts.factors, undefined, { accountId, factorId, at });
  if (recoveryCodes) await parts.factors.change(accountId, () => ({ recoveryCodes: [] }));
  noteChange(parts, actor, accountId, 'factors');
  await noteInActivity(parts, actor, accountId, { what: 'factor_removed' });
}

/** Removes unreadable factors. They may have been any factors, so the user's sessions, tokens and links end, too. */
export function clearDamagedFactors(parts: ActsParts, actor: Actor, accountId: string): Promise<void> {
  return parts.userEvents.around(newUserEvent(accountId, 'ended'), async () => {
    await voidAll(parts, accountId);
    await parts.factors.remove(accountId);
    noteChange(parts, actor, accountId, 'factors');
  });
}

/** Whether the user may change their factors. A user with a passkey must have used it, or have signed in with a recovery code. */
export function mayChangeFactors(
  signIn: SignInSettings,
  { amr }: { readonly amr: Amr },
  own: Factors,
  at: number,
) {
  if (isRecovered(amr)) return true;
  // If there is only a provisional passkey, the owner can still remove it after a sign-in with a code.
  const passkeys = own.passkeys.filter((one) => !isProvisional(one, at));
  const keys = { ...own, passkeys, oneTimeCode: undefined };
  if (canReach(signIn, keys, 'passkey', at)) return levelOf(amr) === 'passkey';
  return hasKey(amr) || !canReach(signIn, keys, 'second_factor', at);
}
