// Taking a factor from a user, by their own wish or an operator's.
import type { SignInSettings } from '../config/config.ts';
import type { Level } from '../config/sign-in-levels.ts';
import { canReach, type Factors, type FactorStore, hasSecondFactor, type Method } from './factors.ts';
import { withNotice } from './notices.ts';

/** The one-time codes of a user, among their factors. */
export const ONE_TIME_CODES = 'one-time-codes';

export type Removal = Readonly<{
  accountId: string;
  /** Of a passkey, or ONE_TIME_CODES. */
  factorId: string;
  /** What the user can't do without. */
  needed?: readonly Level[] | undefined;
  /** Epoch seconds. */
  at: number;
  /** The session. */
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

/** Sessions that rested on it end, but for the one that goes on with the factors that are left. Undefined: it was gone. Throws StoreUnavailable. */
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
    // A provisional passkey takes nobody's place yet, and is all that some have.
    if ([at, Infinity].some((when) => reached({ ...before, ...rest }, when) < reached(before, when))) {
      result = 'still_needed';
      return undefined;
    }
    const notices = withNotice(before.notices, { what: 'factor_removed', at, method, by });
    // They stand in for factors, and would for later ones that the user has for the first time.
    const recoveryCodes = hasSecondFactor({ ...before, ...rest }) ? before.recoveryCodes : [];
    return { ...rest, recoveryCodes, sessionsSince: before.sessionsSince + 1, notices };
  });
  if (result === 'passkey') await factors.releaseCredential(factorId);
  return result === 'still_needed' ? result : changed;
}
