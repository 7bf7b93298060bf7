// Everything about keys that a process opens once: the vault, the ring in the store, and the pepper of its keyed hashes.
import type { Config } from '../config/config.ts';
import { createKeyedHash, type KeyedHash } from '../store/keyed-hash.ts';
import type { Store } from '../store/store.ts';
import { generateKey } from './generate-key.ts';
import { createKeyStore, type KeyStore } from './key-store.ts';
import { KeyStoreError } from './ring-document.ts';
import { toTiming, toTimingInput, type Timing } from './timing.ts';
import { createVault } from './vault.ts';

/** What the ring asks for with each step. Written over when a configuration changes it. */
export type KeySettings = { modulus: Config['signingKeys']['modulus']; readonly timing: KeyTimes };
type KeyTimes = { -readonly [Name in keyof Timing]: Timing[Name] };

export type OpenKeys = {
  readonly settings: KeySettings;
  readonly keyStore: KeyStore;
  readonly hash: KeyedHash;
};

/**
 * Why a start with `config` would be refused by the keys in the store; undefined when it would not. Changes nothing. Rejects with
 * StoreUnavailable.
 */
export async function findKeyFault(config: Config, { documents, clock }: Store): Promise<string | undefined> {
  const { modulus, timing } = keySettings(config);
  const keyStore = createKeyStore({
    documents,
    vault: createVault(config.encryptionKeys),
    now: clock.now,
    timing,
    generateKey: () => generateKey(modulus),
    issuer: config.issuer,
  });
  try {
    await keyStore.check();
    return undefined;
  } catch (error) {
    if (error instanceof KeyStoreError) return error.message;
    throw error;
  }
}

/** Rejects with one line when the stored keys can't be read with the encryption keys of `config`. */
export async function openKeys(config: Config, { documents, clock }: Store): Promise<OpenKeys> {
  const vault = createVault(config.encryptionKeys);
  const settings = keySettings(config);
  const keyStore = createKeyStore({
    documents,
    vault,
    now: clock.now,
    timing: settings.timing,
    generateKey: () => generateKey(settings.modulus),
    issuer: config.issuer,
  });
  await keyStore.ensure();
  return { settings, keyStore, hash: createKeyedHash(keyStore.pepper) };
}

/** The ring goes on with what `config` says. */
export function changeKeySettings(settings: KeySettings, config: Config): void {
  const { modulus, timing } = keySettings(config);
  settings.modulus = modulus;
  Object.assign(settings.timing, timing);
}

function keySettings(config: Config): KeySettings {
  return { modulus: config.signingKeys.modulus, timing: toTiming(toTimingInput(config)) };
}
