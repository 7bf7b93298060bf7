// Documents in Redis: one hash a collection, so that compare-and-set and list are both one command in one slot.
// The only keys that never end.
import type { RedisConnection } from './redis-connection.ts';
import { documentsKey } from './redis-keys.ts';
import { toBoolean } from './redis-replies.ts';
import type { DocumentStore, StoredDocument } from './store.ts';

/** Documents over `connection`. */
export function createRedisDocuments(connection: RedisConnection): DocumentStore {
  return {
    async get(collection, id) {
      const stored = await connection.ask(documentsKey(collection), (redis) =>
        redis.hget(documentsKey(collection), id),
      );
      return stored === null ? undefined : toDocument(id, stored);
    },

    async list(collection) {
      const fields = await connection.ask(documentsKey(collection), (redis) =>
        redis.hgetall(documentsKey(collection)),
      );
      return Object.entries(fields)
        .map(([id, stored]) => toDocument(id, stored))
        .toSorted((a, b) => (a.id < b.id ? -1 : 1));
    },

    async put(collection, id, value, expectedVersion) {
      return toBoolean(
        await connection.confirm(
          { script: 'putDocument', keys: [documentsKey(collection)], args: [id, value, expectedVersion] },
          toBoolean,
        ),
      );
    },

    async remove(collection, id, expectedVersion) {
      return toBoolean(
        await connection.confirm(
          { script: 'removeDocument', keys: [documentsKey(collection)], args: [id, expectedVersion] },
          toBoolean,
        ),
      );
    },
  };
}

/** `version value`, as the script writes it. */
function toDocument(id: string, stored: string): StoredDocument {
  const space = stored.indexOf(' ');
  return { id, value: stored.slice(space + 1), version: Number(stored.slice(0, space)) };
}
