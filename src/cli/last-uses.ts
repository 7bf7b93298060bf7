// When client secrets were last used, out of the configured store. Owns the opening of it; without a store nothing is known.
import { existsSync } from 'node:fs';
import { readSecretUses } from '../engine/secret-uses.ts';
import { openStore } from '../store/open.ts';
import type { ReadLastUses } from './client-list.ts';

export const readLastUses: ReadLastUses = async ({ store: location }) => {
  // A listing makes no data folder.
  if (location.engine === 'lmdb' && !existsSync(location.folder)) return () => undefined;
  const store = await openStore(location);
  try {
    return await readSecretUses(store.documents);
  } finally {
    await store.close();
  }
};
