// Whether a code proves the second factor of a person: counted before it is looked at, and used up by being right.
import type { KeyedHash } from '../store/keyed-hash.ts';
import type { Clock } from '../store/store.ts';
import type { Proof } from './authentication-methods.ts';
import { type Factors, type FactorStore, withNotice } from './factors.ts';
import type { createOneTimeCodes } from './one-time-codes.ts';
import { recoveryCodeHash } from './recovery-codes.ts';

/** What was typed, into one of two fields. */
export type TypedCode = {
  readonly accountId: string;
  readonly method: 'one_time_code' | 'recovery_code';
  readonly typed: string;
};

export type ProvedCode = { readonly proof: Proof; readonly factors: Factors };

export type SecondFactorParts = {
  readonly factors: FactorStore;
  readonly codes: Pick<ReturnType<typeof createOneTimeCodes>, 'newStep'>;
  readonly hash: KeyedHash;
  readonly now: Clock;
  /** The methods that are on. */
  readonly isOn: { readonly oneTimeCodes: boolean; readonly recoveryCodes: boolean };
};

/**
 * Undefined: the code is wrong, or was used before. `takeBack` undoes the count of a right one, and of one that couldn't be looked at.
 * Throws StoreUnavailable, also where the secret can't be opened.
 */
export type ProveCode = (code: TypedCode, takeBack: () => void) => Promise<ProvedCode | undefined>;

export function createProveCode({ factors, codes, hash, now, isOn }: SecondFactorParts): ProveCode {
  async function useOneTimeCode(accountId: string, typed: string): Promise<Factors | undefined> {
    const { oneTimeCode } = await factors.get(accountId);
    if (!isOn.oneTimeCodes || oneTimeCode === undefined) return undefined;
    const step = await codes.newStep(accountId, oneTimeCode, { typed, at: now() });
    if (step === undefined) return undefined;
    // The write decides: the step only grows, over all processes (RFC 6238 §5.2).
    return factors.change(accountId, (before) =>
      before.oneTimeCode?.sealed === oneTimeCode.sealed && before.oneTimeCode.lastStep < step
        ? { oneTimeCode: { ...before.oneTimeCode, lastStep: step } }
        : undefined,
    );
  }

  async function useRecoveryCode(accountId: string, typed: string): Promise<Factors | undefined> {
    if (!isOn.recoveryCodes) return undefined;
    const hashed = recoveryCodeHash(hash, accountId, typed);
    return factors.change(accountId, ({ recoveryCodes, notices }) => {
      if (!recoveryCodes.includes(hashed)) return undefined;
      const left = recoveryCodes.filter((one) => one !== hashed);
      const notice = { what: 'recovery_code_used', at: Math.floor(now() / 1000), left: left.length } as const;
      return { recoveryCodes: left, notices: withNotice(notices, notice) };
    });
  }

  return async function proveCode({ accountId, method, typed }, takeBack) {
    const use = method === 'one_time_code' ? useOneTimeCode : useRecoveryCode;
    try {
      const proved = await use(accountId, typed);
      if (proved === undefined) return undefined;
      takeBack();
      return { proof: method, factors: proved };
    } catch (error) {
      takeBack();
      throw error;
    }
  };
}
