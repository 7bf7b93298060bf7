// Ordered indexes in lmdb: all in one table, each with its name as the prefix of its keys.
import { toKeyName } from '../key-name.ts';
import { toIndexBounds, toIndexEntry, toIndexKey } from '../ordered-index.ts';
import type { IndexEntry, IndexStore } from '../store.ts';
import type { LmdbTables } from './tables.ts';

const prefixOf = (index: string): Buffer => Buffer.from(`${toKeyName(index)}\0`);

export function createLmdbIndex(tables: LmdbTables): IndexStore {
  async function putAll(index: string, entries: readonly IndexEntry[]): Promise<number> {
    const name = prefixOf(index);
    const keys = entries.map((entry) => Buffer.concat([name, toIndexKey(entry)]));
    const missing = () => keys.filter((key) => !tables.index.doesExist(key));
    // Usually all entries exist already, and a transaction would wait for the disk.
    if (tables.read(missing).length === 0) return 0;
    return tables.write(() => {
      const added = missing();
      for (const key of added) void tables.index.put(key, true);
      return added.length;
    });
  }

  return {
    put: async (index, sort, id) => (await putAll(index, [{ sort, id }])) === 1,
    putAll,

    async remove(index, sort, id) {
      const key = Buffer.concat([prefixOf(index), toIndexKey({ sort, id })]);
      await tables.write(() => void tables.index.remove(key));
    },

    async page(index, range) {
      const name = prefixOf(index);
      const { from, to } = toIndexBounds(range);
      const keys = { start: Buffer.concat([name, from]), end: Buffer.concat([name, to]), limit: range.limit };
      return tables.read(() =>
        Array.from(tables.index.getKeys(keys), (key) => toIndexEntry(key.subarray(name.length))),
      );
    },
  };
}
