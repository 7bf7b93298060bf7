// Documents in lmdb: compare-and-set on a version, in one transaction. No time to live and no cache.
import { toKeyName } from '../key-name.ts';
import type { LmdbTables } from './tables.ts';
import type { DocumentStore, DocumentWrite, StoredDocument } from '../store.ts';

/** Documents per page. Reading one blocks the event loop for a millisecond. */
const PAGE = 500;

export function createLmdbDocuments(tables: LmdbTables): DocumentStore {
  const putAll = async (collection: string, writes: readonly DocumentWrite[]) =>
    tables.write(() => putDocuments(tables, collection, writes));

  function rangeOf(collection: string, after = '', limit = Number.MAX_SAFE_INTEGER) {
    const name = toKeyName(collection);
    // No name in a key sorts after U+FFFF.
    const range = { start: [name, after], exclusiveStart: true, end: [name, '\uffff'], limit };
    return tables.read(() => Array.from(tables.documents.getRange(range), ({ value }) => value));
  }

  return {
    async get(collection, id) {
      return tables.read(() => tables.documents.get(keyOf(collection, id)));
    },

    async getAll(collection, ids) {
      return tables.read(() => ids.map((id) => tables.documents.get(keyOf(collection, id))));
    },

    async list(collection) {
      return rangeOf(collection).toSorted(byId);
    },

    async page(collection, cursor) {
      const documents = rangeOf(collection, cursor, PAGE);
      const last = documents[PAGE - 1];
      return { documents, next: last && toKeyName(last.id) };
    },

    put: (collection, id, value, expectedVersion) => putAll(collection, [{ id, value, expectedVersion }]),
    putAll,

    async remove(collection, id, expectedVersion) {
      const key = keyOf(collection, id);
      return tables.write(() => {
        if (tables.documents.get(key)?.version !== expectedVersion) return false;
        void tables.documents.remove(key);
        return true;
      });
    },
  };
}

/** Call it in a transaction only. False: a document has another version. */
export function putDocuments(
  tables: LmdbTables,
  collection: string,
  writes: readonly DocumentWrite[],
): boolean {
  const versionOf = (id: string) => tables.documents.get(keyOf(collection, id))?.version ?? 0;
  if (writes.some(({ id, expectedVersion }) => versionOf(id) !== expectedVersion)) return false;
  for (const { id, value, expectedVersion } of writes) {
    void tables.documents.put(keyOf(collection, id), { id, value, version: expectedVersion + 1 });
  }
  return true;
}

const keyOf = (collection: string, id: string): [string, string] => [toKeyName(collection), toKeyName(id)];

const byId = (a: StoredDocument, b: StoredDocument) => (a.id < b.id ? -1 : 1);
