// The location of a test's store in its two forms: the configuration file's and the resolved one.
import type { StoreConfig } from '../../src/config/config.ts';

export function toStoreConfig(store: string): StoreConfig {
  return store.startsWith('lmdb:')
    ? { engine: 'lmdb', folder: store.slice('lmdb:'.length) }
    : { engine: 'redis', url: store };
}
