// Moves the documents of the embedded store into a Redis: signing keys, the pepper, data of users.
import { connectRedis } from '../../store/redis/connection.ts';
import { documentsKey } from '../../store/redis/keys.ts';
import type { StoredDocument } from '../../store/store.ts';
import { exportDocuments } from './lmdb-folder.ts';

/**
 * Copies the documents of a folder, with their versions, to a Redis that has none. The service must not run on either. Resolves the number
 * of each collection, or undefined if the Redis has some.
 */
export async function moveToRedis(
  folder: string,
  url: string,
): Promise<Readonly<Record<string, number>> | undefined> {
  // An index isn't copied, so neither is the mark that it is complete.
  const documents = (await exportDocuments(folder)).filter(({ collection }) => collection !== 'index-marks');
  if (!(await importIntoRedis(url, documents))) return undefined;
  const moved: Record<string, number> = {};
  for (const { collection } of documents) moved[collection] = (moved[collection] ?? 0) + 1;
  return moved;
}

/** Resolves false if there are documents already. */
async function importIntoRedis(
  url: string,
  documents: readonly (StoredDocument & { readonly collection: string })[],
): Promise<boolean> {
  const connection = await connectRedis(url);
  try {
    for (const key of new Set(documents.map(({ collection }) => documentsKey(collection))))
      if ((await connection.ask(key, (redis) => redis.hlen(key))) > 0) return false;
    for (const { collection, id, value, version } of documents) {
      const args = [id, value, version];
      if ((await connection.confirm('importDocument', [documentsKey(collection)], args)) !== 1) return false;
    }
    return true;
  } finally {
    await connection.close();
  }
}
