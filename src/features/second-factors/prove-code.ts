// Checks whether a code proves a user's second factor. Attempts are counted before the check. The caller's write uses up the code.
import type { KeyedHash } from '../../store/keyed-hash.ts';
import type { Clock } from '../../store/store.ts';
import {
  type FactorStore,
  type Factors,
  type PreparedFactors,
  forgiven,
  isProvisional,
} from '../../users/factors.ts';
import { withNotice } from './notices.ts';
import { type createOneTimeCodes, withStep } from './one-time-codes.ts';
import type { Proof } from './proofs.ts';
import { recoveryCodeHash } from './recovery-codes.ts';

/** A code that was typed into one of two fields. */
export type TypedCode = Readonly<{
  accountId: string;
  method: 'one_time_code' | 'recovery_code';
  typed: string;
  /** The user has signed in from this browser before. */
  isTrusted?: boolean | undefined;
}>;

type ProvedCode = PreparedFactors & { readonly proof: Proof };
/** Wrong codes in a row. `isLocked`: no more are checked. `isNews`: the user is notified now. */
export type FailedCodes = Readonly<{ failures: number; isLocked: boolean; isNews: boolean }>;

/** NIST SP 800-63B-4 §3.2.2: 100 wrong codes in a row. Unknown browsers can't use up the last twenty. */
const CAPS = { unknown: 80, trusted: 100 };
/** Each count is an event of the account, and from the second on also a notice. */
const TOLD_AT = [5, 25, CAPS.unknown, CAPS.trusted];

type SecondFactorParts = Readonly<{
  factors: FactorStore;
  codes: Pick<ReturnType<typeof createOneTimeCodes>, 'stepOf'>;
  hash: KeyedHash;
  now: Clock;
  isOn: Readonly<{ oneTimeCodes: boolean; recoveryCodes: boolean }>;
}>;

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
    // The write decides, across all processes, and nothing is revealed about the code before it (RFC 6238 §5.2).
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
   * Resolves undefined or FailedCodes if the code is wrong or was used before. Counts a wrong code; the caller's write uses up a right one.
   * Throws StoreUnavailable, also if the secret can't be decrypted.
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
