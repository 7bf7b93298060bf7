// Opens the store that the configuration names, for the service and for commands. Loads only that one: a service on Redis never
// loads lmdb's binary.
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { StoreConfig } from '../config/config.ts';
import type { Clock, Store } from './store.ts';

/**
 * Rejects with one line that an administrator can act on. `now` overrides every clock; without it, machines that share a
 * server use the server's clock. `log` gets the store's warnings, which don't stop the service.
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

/** False where opening would create an LMDB store. For commands that only read. */
export const isStoreMade = (config: StoreConfig) =>
  config.engine !== 'lmdb' || existsSync(path.join(config.folder, 'data.mdb'));
