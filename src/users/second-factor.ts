// Whether a code proves the second factor of a user: counted before it is looked at. What uses it up is written with what it is for.
import type { KeyedHash } from '../store/keyed-hash.ts';
import type { Clock } from '../store/store.ts';
import type { Proof } from './authentication-methods.ts';
import { type Factors, type FactorStore, forgiven, isProvisional, type PreparedFactors } from './factors.ts';
import { withNotice } from './notices.ts';
import { type createOneTimeCodes, withStep } from './one-time-codes.ts';
import { recoveryCodeHash } from './recovery-codes.ts';

/** What was typed, into one of two fields. */
export type TypedCode = Readonly<{
  accountId: string;
  method: 'one_time_code' | 'recovery_code';
  typed: string;
  /** In a browser that the user has signed in from before. */
  isTrusted?: boolean | undefined;
}>;

type ProvedCode = PreparedFactors & { readonly proof: Proof };
/** Wrong codes in a row. `isLocked`: no more are looked at. `isNews`: the user hears of it now. */
export type FailedCodes = { readonly failures: number; readonly isLocked: boolean; readonly isNews: boolean };

/** NIST SP 800-63B-4 §3.2.2: 100 wrong codes in a row. Unknown browsers can't use up the last twenty. */
const CAPS = { unknown: 80, trusted: 100 };
/** Each is an event of the account, and from the second on a notice. */
const TOLD_AT = [5, 25, CAPS.unknown, CAPS.trusted];

type SecondFactorParts = Readonly<{
  factors: FactorStore;
  codes: Pick<ReturnType<typeof createOneTimeCodes>, 'stepOf'>;
  hash: KeyedHash;
  now: Clock;
  /** The methods that are on. */
  isOn: { readonly oneTimeCodes: boolean; readonly recoveryCodes: boolean };
}>;

export type ProveCode = ReturnType<typeof createProveCode>;

export function createProveCode({ factors, codes, hash, now, isOn }: SecondFactorParts) {
  async function useOneTimeCode({ accountId, typed, isTrusted = false }: TypedCode) {
    const { oneTimeCode } = await factors.get(accountId);
    if (!isOn.oneTimeCodes || oneTimeCode === undefined) return undefined;
    const at = now();
    const step = await codes.stepOf(accountId, oneTimeCode, { typed, at });
    const cap = isTrusted ? CAPS.trusted : CAPS.unknown;
    let failures = cap;
    function count({ oneTimeCode: before, notices }: Factors): Partial<Factors> | undefined {
      failures = before?.failures ?? 0;
      if (before === undefined || failures >= cap) return undefined;
      if (step !== undefined) {
        const used = before.sealed === oneTimeCode?.sealed ? withStep(before, step, at) : undefined;
        return used && { oneTimeCode: { ...used, failures: undefined } };
      }
      failures += 1;
      const notice = { what: 'codes_failed', at: Math.floor(at / 1000) } as const;
      const told = TOLD_AT.indexOf(failures) > 0 && { notices: withNotice(notices, notice) };
      return { oneTimeCode: { ...before, failures }, ...told };
    }
    // The write decides, over all processes, and nothing is said of the code before (RFC 6238 §5.2).
    const proved = step === undefined ? undefined : await factors.prepare(accountId, count);
    if (proved !== undefined) return proved;
    const counted = step === undefined ? await factors.change(accountId, count) : undefined;
    const isNews = counted !== undefined && TOLD_AT.includes(failures);
    return isNews || failures >= cap ? { failures, isLocked: failures >= cap, isNews } : undefined;
  }

  async function useRecoveryCode({ accountId, typed }: TypedCode): Promise<PreparedFactors | undefined> {
    if (!isOn.recoveryCodes) return undefined;
    const hashed = recoveryCodeHash(hash, accountId, typed);
    return factors.prepare(accountId, ({ recoveryCodes, notices, ...own }) => {
      if (!recoveryCodes.includes(hashed)) return undefined;
      const left = recoveryCodes.filter((one) => one !== hashed);
      const notice = { what: 'recovery_code_used', at: Math.floor(now() / 1000), left: left.length } as const;
      return { ...forgiven(own), recoveryCodes: left, notices: withNotice(notices, notice) };
    });
  }

  /**
   * Undefined or FailedCodes: the code is wrong, or was used before. A wrong one is counted; a right one is used up by the caller's write.
   * Throws StoreUnavailable, also where the secret can't be opened.
   */
  return async function proveCode(code: TypedCode): Promise<ProvedCode | FailedCodes | undefined> {
    const use = code.method === 'one_time_code' ? useOneTimeCode : useRecoveryCode;
    const proved = await use(code);
    if (proved === undefined || 'failures' in proved) return proved;
    const { oneTimeCode } = proved.factors;
    const isTooNew = oneTimeCode !== undefined && isProvisional(oneTimeCode, now() / 1000);
    return { ...proved, proof: isTooNew ? 'recovery_code' : code.method };
  };
}
