// Documents in Redis: one hash per collection, so that compare-and-set is one command in one slot. The keys never expire.
import { probe, type RedisConnection } from './connection.ts';
import { documentsKey } from './keys.ts';
import type { DocumentPage, DocumentStore, DocumentWrite, StoredDocument } from '../store.ts';

/** Documents per page: its reply stays far below the limits of the deadline and the server's output buffer. */
const PAGE = 500;

/** The scripts return 1 or 0. */
const isDone = (reply: unknown) => reply === 1;

export function createRedisDocuments(connection: RedisConnection): DocumentStore {
  async function putAll(collection: string, writes: readonly DocumentWrite[]): Promise<boolean> {
    const key = documentsKey(collection);
    await probe(connection, key, writes[0]?.id ?? '');
    const args = writes.flatMap(({ id, value, expectedVersion }) => [id, value, expectedVersion]);
    return isDone(await connection.confirm('putDocuments', [key], args, isDone));
  }

  async function page(collection: string, cursor = '0'): Promise<DocumentPage> {
    const key = documentsKey(collection);
    const [next, found] = await connection.ask(key, (redis) => redis.hscan(key, cursor, 'COUNT', PAGE));
    const documents: StoredDocument[] = [];
    for (let index = 0; index + 1 < found.length; index += 2)
      documents.push(toDocument(found[index] ?? '', found[index + 1] ?? ''));
    return { documents, next: next === '0' ? undefined : next };
  }

  return {
    async get(collection, id) {
      const key = documentsKey(collection);
      const stored = await connection.ask(key, (redis) => redis.hget(key, id));
      return stored === null ? undefined : toDocument(id, stored);
    },

    async getAll(collection, ids) {
      const key = documentsKey(collection);
      if (ids.length === 0) return [];
      const found = await connection.ask(key, (redis) => redis.hmget(key, ...ids));
      return found.map((stored, index) =>
        stored === null ? undefined : toDocument(ids[index] ?? '', stored),
      );
    },

    /** Each page has its own deadline. */
    async list(collection) {
      // HSCAN may return a field twice while the hash grows.
      const found = new Map<string, StoredDocument>();
      let cursor: string | undefined = '0';
      while (cursor !== undefined) {
        const { documents, next }: DocumentPage = await page(collection, cursor);
        for (const document of documents) found.set(document.id, document);
        cursor = next;
      }
      return [...found.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
    },
    page,

    put: (collection, id, value, expectedVersion) => putAll(collection, [{ id, value, expectedVersion }]),
    putAll,

    async remove(collection, id, expectedVersion) {
      const args = [id, expectedVersion];
      return isDone(await connection.confirm('removeDocument', [documentsKey(collection)], args, isDone));
    },
  };
}

/** Parses `version value`, as the script writes it. A damaged document gets the version that the scripts assume. */
function toDocument(id: string, stored: string): StoredDocument {
  const version = /^\d*/.exec(stored)?.[0] ?? '';
  return { id, value: stored.slice(version.length + 1), version: Number(version) };
}
