// Puts a key ring into an empty store, as a first start does: generating RSA keys takes longer than anything else in a world.
import type { Config } from '../../src/config/config.ts';
import { generateKey, type KeyMaterial } from '../../src/keys/generate-key.ts';
import { KeyStore } from '../../src/keys/key-store.ts';
import { toTiming, toTimingInput } from '../../src/config/key-times.ts';
import { Vault } from '../../src/keys/vault.ts';
import type { Store } from '../../src/store/store.ts';

const MODULUS = 2048;
/** Enough for four worlds that run at the same time without a common key: a new ring has two. */
const KEYS = 2 * 4;

const keys: Promise<KeyMaterial>[] = [];
let taken = 0;

/** The next of the few keys that this process generates. */
function nextKey(): Promise<KeyMaterial> {
  const index = taken % KEYS;
  taken += 1;
  return (keys[index] ??= generateKey(MODULUS));
}

/** Seeds the store unless it has a ring. A damaged ring stays: the start of the service reports it. */
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
