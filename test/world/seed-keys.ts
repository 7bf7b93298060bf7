// Puts a key ring into an empty store, as a first start would: RSA keys cost more than all else that a world needs.
import type { Config } from '../../src/config/config.ts';
import { generateKey, type KeyMaterial } from '../../src/keys/generate-key.ts';
import { KeyStore } from '../../src/keys/key-store.ts';
import { toTiming, toTimingInput } from '../../src/config/key-times.ts';
import { Vault } from '../../src/keys/vault.ts';
import type { Store } from '../../src/store/store.ts';

const MODULUS = 2048;
/** A ring begins with two, and so many worlds that run side by side have no key in common. */
const KEYS = 2 * 4;

const keys: Promise<KeyMaterial>[] = [];
let taken = 0;

/** The next of a few keys that this process makes once. */
function nextKey(): Promise<KeyMaterial> {
  const index = taken % KEYS;
  taken += 1;
  return (keys[index] ??= generateKey(MODULUS));
}

/** Leaves a store alone that has a ring. What is wrong with it, the start of the service says. */
export async function seedKeys(config: Config, { documents, clock }: Store): Promise<void> {
  if (config.signingKeys.modulus !== MODULUS) return;
  const keyStore = new KeyStore({
    documents,
    vault: new Vault(config.encryptionKeys),
    now: clock.now,
    timing: toTiming(toTimingInput(config)),
    generateKey: nextKey,
    issuer: config.issuer,
  });
  await keyStore.ensure().catch(() => undefined);
}
