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
