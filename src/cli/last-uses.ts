// When client secrets were last used, out of the configured store. Owns the opening of it; without a store nothing is known.
import { readSecretUses } from '../oidc/secret-uses.ts';
import { isStoreMade, openStore } from '../store/open.ts';
import type { ReadLastUses } from './client-list.ts';

export const readLastUses: ReadLastUses = async ({ store: location }) => {
  if (!(await isStoreMade(location))) return () => undefined;
  const store = await openStore(location);
  try {
    return await readSecretUses(store.documents);
  } finally {
    await store.close();
  }
};
