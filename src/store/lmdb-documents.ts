// Documents in lmdb: compare-and-set on a version, in one transaction. No time to live and no cache.
import { toKeyName } from './key-name.ts';
import type { DocumentRow, LmdbTables } from './lmdb-tables.ts';
import type { DocumentStore } from './store.ts';

/** Documents over `tables`. */
export function createLmdbDocuments(tables: LmdbTables): DocumentStore {
  return {
    async get(collection, id) {
      return tables.read(() => tables.documents.get([toKeyName(collection), toKeyName(id)]));
    },

    async list(collection) {
      const name = toKeyName(collection);
      return tables.read(() => {
        // No name that may stand in a key sorts after U+FFFF.
        const range = tables.documents.getRange({ start: [name, ''], end: [name, '\uffff'] });
        return Array.from(range, ({ value }) => value).toSorted(byId);
      });
    },

    async put(collection, id, value, expectedVersion) {
      const key: [string, string] = [toKeyName(collection), toKeyName(id)];
      return tables.write(() => {
        const version = tables.documents.get(key)?.version ?? 0;
        if (version !== expectedVersion) return false;
        void tables.documents.put(key, { id, value, version: version + 1 });
        return true;
      });
    },

    async remove(collection, id, expectedVersion) {
      const key: [string, string] = [toKeyName(collection), toKeyName(id)];
      return tables.write(() => {
        if (tables.documents.get(key)?.version !== expectedVersion) return false;
        void tables.documents.remove(key);
        return true;
      });
    },
  };
}

function byId(a: DocumentRow, b: DocumentRow): number {
  return a.id < b.id ? -1 : 1;
}
