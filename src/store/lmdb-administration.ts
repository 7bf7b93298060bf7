// lmdb as an operator looks at it. Owns reading its tables as a whole; there is no server to find fault with.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { countOne, type StoreAdministration } from './administration.ts';
import { openFolder } from './lmdb.ts';

export async function administerLmdb(folder: string): Promise<StoreAdministration> {
  const tables = await openFolder(folder);
  return {
    findings: () => Promise.resolve([{ server: `lmdb:${folder}`, faults: [], warnings: [] }]),
    async stats() {
      const counts: Record<string, number> = {};
      tables.read(() => {
        for (const id of tables.records.getKeys()) countOne(counts, id.slice(0, id.indexOf(':')));
        counts['tombstone'] = tables.tombstones.getKeysCount();
        counts['documents'] = tables.documents.getKeysCount();
        counts['counter'] = tables.counters.getKeysCount();
      });
      return { counts, bytes: (await stat(join(folder, 'data.mdb'))).size };
    },
    exportDocuments: () =>
      Promise.resolve(
        tables.read(() =>
          Array.from(tables.documents.getRange({}), ({ key: [collection], value }) => ({
            collection,
            ...value,
          })),
        ),
      ),
    close: () => tables.close(),
  };
}
