// Chooses the store that the configuration names, for the service and for an operator's questions. Loads only that one: a service on Redis
// never loads lmdb's binary.
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { StoreConfig } from '../config/config.ts';
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
  if (config.engine === 'lmdb') {
    const { openLmdb } = await import('./lmdb/lmdb-store.ts');
    return openLmdb({ folder: config.folder, now: now ?? Date.now });
  }
  const { openRedis } = await import('./redis/redis-store.ts');
  return openRedis({
    url: config.url,
    now: now ?? Date.now,
    followsServer: now === undefined,
    onWarning: (message) => log?.warn(message),
  });
}

/** Opens the store for one piece of work. */
export async function withStore<Result>(
  config: StoreConfig,
  use: (store: Store) => Promise<Result>,
): Promise<Result> {
  const store = await openStore(config);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** False where lmdb would make a store: for commands that only read. */
export const isStoreMade = (config: StoreConfig): boolean =>
  config.engine !== 'lmdb' || existsSync(path.join(config.folder, 'data.mdb'));

/** What is wrong with the servers of a Redis. Rejects with one line, without a password. */
export const inspectServers = async (url: string) =>
  (await import('./redis/administration.ts')).inspectRedis(url);

/** See lmdb/administration.ts. */
export const backupFolder = async (folder: string, to: string) =>
  (await import('./lmdb/administration.ts')).backup(folder, to);

/**
 * Puts the documents of a folder into a Redis that has none, with the versions that they had; the service must not run on either
 * meanwhile. Resolves with how many there are of each collection; undefined where the Redis has some already.
 */
export async function moveToRedis(
  folder: string,
  url: string,
): Promise<Readonly<Record<string, number>> | undefined> {
  const { exportDocuments } = await import('./lmdb/administration.ts');
  const { importIntoRedis } = await import('./redis/administration.ts');
  // An index isn't copied, so neither is the mark that it is complete.
  const documents = (await exportDocuments(folder)).filter(({ collection }) => collection !== 'index-marks');
  if (!(await importIntoRedis(url, documents))) return undefined;
  const moved: Record<string, number> = {};
  for (const { collection } of documents) moved[collection] = (moved[collection] ?? 0) + 1;
  return moved;
}
