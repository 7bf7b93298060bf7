// The contents of a running world's store: reads them, and changes them behind the back of the service.
import { loadConfig } from '../../src/config/load.ts';
import { generateKey } from '../../src/keys/generate-key.ts';
import { openPepper } from '../../src/keys/installation.ts';
import { KeyStore } from '../../src/keys/key-store.ts';
import { KEYS_COLLECTION, PEPPER_ID } from '../../src/keys/ring-document.ts';
import { toTiming } from '../../src/config/key-times.ts';
import { Vault } from '../../src/keys/vault.ts';
import { createLimits, type Limits } from '../../src/limits/limits.ts';
import { silentTelemetry } from '../../src/observability/telemetry.ts';
import { createKeyedHash, type KeyedHash } from '../../src/store/keyed-hash.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { DAY, MINUTE } from './clock.ts';
import { type OpenWorld, WORLD_ENV } from './world.ts';

/** Runs with the store of a running world, or opens one that isn't open: LMDB forbids one process to open a folder twice. */
export async function withStore<T>(
  at: Pick<OpenWorld, 'openedStore'> | { readonly folder: string },
  use: (store: Store) => Promise<T>,
): Promise<T> {
  if ('openedStore' in at) return use(at.openedStore);
  const opened = await openStore({ engine: 'lmdb', folder: at.folder }, () => Date.now());
  try {
    return await use(opened);
  } finally {
    await opened.close();
  }
}

/** The key ring in `store`, as another node would read it, with the default timing. */
export function keyStoreOf(store: Store): KeyStore {
  return new KeyStore({
    documents: store.documents,
    vault: worldVault(),
    now: () => Date.now(),
    timing: toTiming({ accessToken: 10 * MINUTE, rotateEvery: 30 * DAY, publishAhead: DAY }),
    generateKey: () => generateKey(2048),
  });
}

/** The hash that derives the name of a record in this store from its bearer value. */
export async function hashOf(store: Store): Promise<KeyedHash> {
  const pepper = await store.documents.get(KEYS_COLLECTION, PEPPER_ID);
  return createKeyedHash(openPepper(pepper?.value ?? '', worldVault()));
}

/** Limits in the same store, as another process of the service counts them. */
export async function limitsOf({ openedStore, configFile }: OpenWorld): Promise<Limits> {
  const { rateLimits } = await loadConfig(configFile, { env: WORLD_ENV });
  const now = () => Date.now();
  const hash = await hashOf(openedStore);
  return createLimits({ ...silentTelemetry(), counters: openedStore.counters, hash, now })(rateLimits);
}

export function worldVault() {
  return new Vault([Buffer.from(WORLD_ENV.TEST_ENCRYPTION_KEY, 'base64url')]);
}
