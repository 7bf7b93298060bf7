// Redis as an operator looks at it: what every master says of itself, what is kept there, documents as a whole. The only
// walk over all keys is here; the service itself never makes one.
import type { PlacedDocument, StoreAdministration } from '../administration.ts';
import { connectRedis, type RedisConnection } from './connection.ts';
import { readCollection } from './documents.ts';
import type { Finding } from './info.ts';
import { documentsKey, DOCUMENTS_PREFIX } from './keys.ts';
import { toBoolean } from './replies.ts';

const BATCH = 500;

export async function administerRedis(url: string): Promise<StoreAdministration> {
  const connection = await connectRedis(url, { isForLooking: true });
  return {
    async findings() {
      return (await connection.inspect()).map(({ name, findings }) => {
        const messagesOf = (wanted: Finding['severity']) =>
          findings.flatMap(({ severity, message }) => (severity === wanted ? [message] : []));
        return {
          server: name === 'master' ? connection.label : name,
          faults: messagesOf('fault'),
          warnings: messagesOf('warning'),
        };
      });
    },
    exportDocuments: () => exportDocuments(connection),
    close: () => connection.close(),
  };
}

/** For `importDocuments`. */
export async function importIntoRedis(url: string, documents: readonly PlacedDocument[]): Promise<boolean> {
  const connection = await connectRedis(url);
  try {
    if ((await exportDocuments(connection)).length > 0) return false;
    for (const { collection, id, value, version } of documents) {
      const write = {
        script: 'importDocument',
        keys: [documentsKey(collection)],
        args: [id, value, version],
      } as const;
      if (!toBoolean(await connection.confirm(write))) return false;
    }
    return true;
  } finally {
    await connection.close();
  }
}

async function exportDocuments(connection: RedisConnection): Promise<readonly PlacedDocument[]> {
  const keys: string[] = [];
  await walk(connection, `${DOCUMENTS_PREFIX}*`, (key) => keys.push(key));
  const found = keys.toSorted().map(async (key) => {
    const collection = key.slice(DOCUMENTS_PREFIX.length);
    return (await readCollection(connection, key)).map((document) => ({ collection, ...document }));
  });
  return (await Promise.all(found)).flat();
}

async function walk(
  connection: RedisConnection,
  match: string,
  visit: (key: string) => unknown,
): Promise<void> {
  const { prefix } = connection;
  for (const master of connection.masters()) {
    // SCAN knows no prefix, and may name a key twice while the table of keys grows.
    const seen = new Set<string>();
    const pages = master.scanStream({ match: `${prefix}${match}`, count: BATCH }) as AsyncIterable<string[]>;
    for await (const keys of pages) keys.forEach((key) => seen.add(key));
    seen.forEach((key) => visit(key.slice(prefix.length)));
  }
}
