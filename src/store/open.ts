// Chooses the store that the configuration names, for the service and for an operator's questions. Loads only that one: a service on Redis
// never loads lmdb's binary.
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { StoreConfig } from '../config/config.ts';
import type { PlacedDocument, StoreAdministration } from './administration.ts';
import type { Clock, Store } from './store.ts';

/**
 * Rejects with one line that an operator can act on. `now` is believed; without it, who shares a server goes by that one's
 * clock. `log` gets what the service can live with, but shouldn't.
 */
export async function openStore(
  config: StoreConfig,
  now?: Clock,
  log?: { readonly warn: (message: string) => void },
): Promise<Store> {
  const onWarning = (message: string) => log?.warn(message);
  if (config.engine === 'lmdb') {
    const { openLmdb } = await import('./lmdb/lmdb-store.ts');
    return openLmdb({ folder: config.folder, now: now ?? Date.now, onWarning });
  }
  const { openRedis } = await import('./redis/redis-store.ts');
  return openRedis({ url: config.url, now: now ?? Date.now, followsServer: now === undefined, onWarning });
}

/** The same for what an operator asks. Rejects with one line, without a password. */
async function openAdministration(config: StoreConfig): Promise<StoreAdministration> {
  if (config.engine === 'lmdb') {
    const { administerLmdb } = await import('./lmdb/administration.ts');
    return administerLmdb(config.folder);
  }
  const { administerRedis } = await import('./redis/administration.ts');
  return administerRedis(config.url);
}

/** Opens the store for one piece of work. */
export const withStore = <Result>(config: StoreConfig, use: (store: Store) => Promise<Result>) =>
  useOnce(openStore(config), use);

export const withAdministration = <Result>(
  config: StoreConfig,
  use: (administration: StoreAdministration) => Promise<Result>,
) => useOnce(openAdministration(config), use);

async function useOnce<Opened extends { close(): Promise<void> }, Result>(
  opening: Promise<Opened>,
  use: (opened: Opened) => Promise<Result>,
): Promise<Result> {
  const opened = await opening;
  try {
    return await use(opened);
  } finally {
    await opened.close();
  }
}

/** False where lmdb would make a store: for commands that only read. */
export function isStoreMade(config: StoreConfig): boolean {
  return config.engine !== 'lmdb' || existsSync(path.join(config.folder, 'data.mdb'));
}

/**
 * Puts documents into a Redis that has none, with the versions that they had. False: it has some already. The service must not
 * run on it meanwhile.
 */
export async function importDocuments(url: string, documents: readonly PlacedDocument[]): Promise<boolean> {
  const { importIntoRedis } = await import('./redis/administration.ts');
  return importIntoRedis(url, documents);
}
