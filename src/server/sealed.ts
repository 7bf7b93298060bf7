// Sealed data in the store: re-encrypted at a start, and tried with the encryption keys of another configuration.
import { isDeepStrictEqual } from 'node:util';
import type { Config, StoreConfig } from '../config/config.ts';
import { findOutdatedPepper, rewrapPepper } from '../keys/installation.ts';
import type { KeyStore } from '../keys/key-store.ts';
import { type KeyConfig, keyStoreFor } from '../keys/open-keys.ts';
import { rewrapRing } from '../keys/ring-actions.ts';
import { KeyStoreError, Vault, VaultError } from '../keys/vault.ts';
import type { Log } from '../observability/log.ts';
import { FORM_VERSION, FormFault } from '../store/form.ts';
import { noHash } from '../store/keyed-hash.ts';
import { isStoreMade, withStore } from '../store/open.ts';
import { ifUnavailable, type Store } from '../store/store.ts';
import { type FactorStore, sealedFor } from '../users/factors.ts';
import { openUsers } from '../users/accounts.ts';

/** `message`: which data can't be decrypted, if any. `keys`: the encryption keys that it needs. */
type Unopened = Readonly<{ message?: string; isRefused?: boolean; keys: readonly string[] }>;

function unopened(unreadable: ReadonlyMap<string, string | undefined>): Unopened {
  const needed = [...unreadable.values()].filter((key) => key !== undefined);
  const keys = [...new Set(needed)];
  if (keys.length === 0) return { keys };
  const message = `one-time codes (${needed.length}) need an encryption key that is not configured: ${keys.join(', ')}`;
  return { message, keys };
}

/** Re-encrypts each with the first encryption key. Resolves with users whose secret no configured key opens, and its key, if known. */
async function rewrapOneTimeCodes(
  factors: Pick<FactorStore, 'list' | 'change'>,
  vault: Pick<Vault, 'needsRewrap' | 'rewrap'>,
): Promise<ReadonlyMap<string, string | undefined>> {
  const unreadable = new Map<string, string | undefined>();
  for (const [id, { oneTimeCode: old }] of await factors.list((damaged) =>
    unreadable.set(damaged, undefined),
  )) {
    if (old === undefined || !vault.needsRewrap(old.sealed)) continue;
    try {
      const sealed = vault.rewrap(old.sealed, sealedFor(id));
      await factors.change(id, ({ oneTimeCode }) =>
        oneTimeCode?.sealed === old.sealed ? { oneTimeCode: { ...oneTimeCode, sealed } } : undefined,
      );
    } catch (error) {
      if (!(error instanceof VaultError || error instanceof FormFault)) throw error;
      unreadable.set(id, 'code' in error && error.code === 'unreadable' ? error.kekId : undefined);
    }
  }
  return unreadable;
}

/** Names the only key that seals all one-time codes. While a node has several keys, another node may seal with an older one. */
const MARK = ['factors-sealed', 'all'] as const;
const markOf = (key?: string) => JSON.stringify({ v: FORM_VERSION, key });

/** Re-encrypts after a change of the encryption keys. The pepper is last, so that the next start continues an incomplete run. */
export async function sealAnew(
  { encryptionKeys }: Config,
  store: Store,
  keyStore: KeyStore,
  log: Log,
): Promise<Unopened> {
  const { documents } = store;
  const vault = new Vault(encryptionKeys);
  const mark = await documents.get(...MARK);
  if (encryptionKeys.length === 1 && mark?.value === markOf(vault.kekId)) return { keys: [] };
  const isChanged = (await findOutdatedPepper(documents, vault)) !== undefined;
  if (isChanged) await rewrapRing(keyStore, vault);
  const unreadable = await rewrapOneTimeCodes(openUsers(store, noHash).factors, vault);
  if (isChanged) {
    await rewrapPepper(documents, vault);
    log.info({ encryptionKey: vault.kekId }, 'all stored data is encrypted with the first encryption key');
  }
  const accounts = [...unreadable.keys()];
  if (accounts.length > 0)
    log.warn({ accounts }, 'skipped authenticator apps that no configured encryption key can decrypt');
  const isAll = encryptionKeys.length === 1 && accounts.length === 0;
  await documents.put(...MARK, markOf(isAll ? vault.kekId : undefined), mark?.version ?? 0);
  return unopened(unreadable);
}

/** Resolves with what a start with `config` would find. Changes nothing. */
async function tryKeys(config: KeyConfig, store: Store): Promise<Unopened> {
  try {
    await keyStoreFor(config, store).check();
  } catch (error) {
    if (!(error instanceof KeyStoreError)) throw error;
    const key = error.code === 'unreadable' && error instanceof VaultError && error.kekId;
    const message = `the next start would fail: ${error.message}`;
    return { message, isRefused: true, keys: key ? [key] : [] };
  }
  const { factors } = openUsers(store, noHash);
  const looking = { ...factors, change: async () => undefined };
  return unopened(await rewrapOneTimeCodes(looking, new Vault(config.encryptionKeys)));
}

/** The same for commands. `unknown`: why the store can't be read. */
export async function tryStoredKeys(
  config: KeyConfig & { readonly store: StoreConfig },
): Promise<Partial<Unopened> & { readonly unknown?: string }> {
  if (!isStoreMade(config.store)) return {};
  try {
    return await withStore(config.store, (store) => tryKeys(config, store));
  } catch (error) {
    return { unknown: error instanceof Error ? error.message : String(error) };
  }
}

/** Tells what the keys of the newest file don't decrypt. Tries each file with other keys, and every file while data can't be decrypted. */
export function watchSealed(running: Config, atStart: Unopened, store: Store, log: Log) {
  let [tried, found] = [running, atStart];
  return async (wanted: Config): Promise<Unopened> => {
    const before = tried;
    tried = wanted;
    const isSame = isDeepStrictEqual(wanted.encryptionKeys, before.encryptionKeys);
    if (wanted === before || (isSame && found.message === undefined)) return found;
    try {
      found = await tryKeys(wanted, store);
      if (found.message !== undefined) log.warn(found.message);
    } catch (error) {
      tried = before;
      ifUnavailable(error);
    }
    return found;
  };
}
