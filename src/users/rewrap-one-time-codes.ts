// The secrets of authenticator apps, after a change of the encryption keys.
import { type Vault, VaultError } from '../keys/vault.ts';
import type { FactorStore } from './factors.ts';
import { sealedFor } from './one-time-codes.ts';

export type Rewrapped = {
  readonly count: number;
  /** Whose secret no configured key opens. */
  readonly unreadable: readonly string[];
};

export async function oneTimeCodesNeedRewrap(
  factors: Pick<FactorStore, 'list'>,
  vault: Pick<Vault, 'needsRewrap'>,
): Promise<boolean> {
  const everybody = [...(await factors.list()).values()];
  return everybody.some(
    ({ oneTimeCode }) => oneTimeCode !== undefined && vault.needsRewrap(oneTimeCode.sealed),
  );
}

/** Seals each with the first encryption key. One that can't be opened doesn't keep the others from it. */
export async function rewrapOneTimeCodes(
  factors: Pick<FactorStore, 'list' | 'change'>,
  vault: Pick<Vault, 'needsRewrap' | 'rewrap'>,
): Promise<Rewrapped> {
  const unreadable: string[] = [];
  let count = 0;
  for (const [id, { oneTimeCode: old }] of await factors.list()) {
    if (old === undefined || !vault.needsRewrap(old.sealed)) continue;
    try {
      const sealed = vault.rewrap(old.sealed, sealedFor(id));
      const changed = await factors.change(id, ({ oneTimeCode }) =>
        oneTimeCode?.sealed === old.sealed ? { oneTimeCode: { ...oneTimeCode, sealed } } : undefined,
      );
      if (changed !== undefined) count += 1;
    } catch (error) {
      if (!(error instanceof VaultError)) throw error;
      unreadable.push(id);
    }
  }
  return { count, unreadable };
}
