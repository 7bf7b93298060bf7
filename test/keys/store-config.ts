// Where a test's store is, in the two forms that name it: the configuration file's and the resolved one.
import type { StoreConfig } from '../../src/config/config.ts';

export function toStoreConfig(store: string): StoreConfig {
  return store.startsWith('lmdb:')
    ? { engine: 'lmdb', folder: store.slice('lmdb:'.length) }
    : { engine: 'redis', url: store };
}
