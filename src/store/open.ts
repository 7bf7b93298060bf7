// Chooses the store that the configuration names. Loads only that one: a service on Redis never loads lmdb's binary.
import type { StoreConfig } from '../config/config.ts';
import type { Clock, Store } from './store.ts';

/**
 * Rejects with one line that an operator can act on. `now` is believed; without it, who shares a server goes by that one's
 * clock. `onWarning` hears what the service can live with, but shouldn't.
 */
export async function openStore(
  config: StoreConfig,
  now?: Clock,
  onWarning?: (message: string) => void,
): Promise<Store> {
  if (config.engine === 'lmdb') {
    const { openLmdb } = await import('./lmdb.ts');
    return openLmdb({ folder: config.folder, now: now ?? Date.now });
  }
  const { openRedis } = await import('./redis.ts');
  return openRedis({ url: config.url, now: now ?? Date.now, followsServer: now === undefined, onWarning });
}
