// The keys of one configuration: the vault of its encryption keys, the ring in its store, and the pepper of its keyed hashes.
import { createKeyedHash } from '../store/keyed-hash.ts';
import type { Store } from '../store/store.ts';
import { generateKey } from './generate-key.ts';
import { type KeySettings, KeyStore } from './key-store.ts';
import { type TimingSettings, toTiming, toTimingInput } from '../config/key-times.ts';
import { Vault } from './vault.ts';

export type KeyConfig = TimingSettings & {
  readonly encryptionKeys: readonly Buffer[];
  /** Undefined accepts a store of any issuer. */
  readonly issuer: string | undefined;
};

/** Rejects with one line when the stored keys can't be read with the encryption keys of `config`. */
export async function openKeys(config: KeyConfig, store: Store) {
  const keyStore = keyStoreFor(config, store);
  await keyStore.ensure();
  return { keyStore, hash: createKeyedHash(keyStore.pepper) };
}

export function keyStoreFor(config: KeyConfig, { documents, clock }: Store): KeyStore {
  return new KeyStore({
    ...keySettingsOf(config),
    documents,
    vault: new Vault(config.encryptionKeys),
    now: clock.now,
    issuer: config.issuer,
  });
}

export function keySettingsOf(config: TimingSettings): KeySettings {
  const { modulus, algorithms } = config.signingKeys;
  return {
    timing: toTiming(toTimingInput(config)),
    algorithms,
    generateKey: (alg) => generateKey(modulus, alg),
  };
}
