// Opens a store for an operator's questions. Only the engine in question is loaded.
import type { StoreConfig } from '../config/config.ts';
import type { PlacedDocument, StoreAdministration } from './administration.ts';

/** Rejects with one line, without a password, when the store can't be reached. */
export async function openAdministration(config: StoreConfig): Promise<StoreAdministration> {
  if (config.engine === 'lmdb') {
    const { administerLmdb } = await import('./lmdb/administration.ts');
    return administerLmdb(config.folder);
  }
  const { administerRedis } = await import('./redis/administration.ts');
  return administerRedis(config.url);
}

/** Opens it for one piece of work. */
export async function withAdministration<Result>(
  config: StoreConfig,
  use: (administration: StoreAdministration) => Promise<Result>,
): Promise<Result> {
  const administration = await openAdministration(config);
  try {
    return await use(administration);
  } finally {
    await administration.close();
  }
}

/**
 * Puts documents into a Redis that has none, with the versions that they had. False: it has some already. The service must not
 * run on it meanwhile.
 */
export async function importDocuments(url: string, documents: readonly PlacedDocument[]): Promise<boolean> {
  const { importIntoRedis } = await import('./redis/administration.ts');
  return importIntoRedis(url, documents);
}
