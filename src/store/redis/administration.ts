// Redis as an operator looks at it: what every master says of itself, and the documents of another store put in.
import type { StoredDocument } from '../store.ts';
import { connectRedis } from './connection.ts';
import { documentsKey } from './keys.ts';

export async function inspectRedis(url: string) {
  const connection = await connectRedis(url, async () => undefined);
  try {
    return (await connection.inspect()).map(({ name, findings }) => ({
      server: name === 'master' ? connection.label : name,
      findings,
    }));
  } finally {
    await connection.close();
  }
}

/** For `importDocuments`. */
export async function importIntoRedis(
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
