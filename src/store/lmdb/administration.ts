// What an operator asks of lmdb: its tables read as a whole.
import { chmod, mkdir, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { StoreAdministration } from '../administration.ts';
import { DATA_FILE } from './files.ts';
import { openFolder } from './lmdb-store.ts';

/** Rejects where no service has made a store yet: looking makes none, and an empty copy is no backup. */
export async function administerLmdb(folder: string): Promise<StoreAdministration> {
  await stat(join(folder, DATA_FILE)).catch((cause: unknown) => {
    throw new Error(`there is no store in ${folder}`, { cause });
  });
  const tables = await openFolder(folder);
  return {
    findings: () => Promise.resolve([{ server: `lmdb:${folder}`, faults: [], warnings: [] }]),
    exportDocuments: () =>
      Promise.resolve(
        tables.read(() =>
          Array.from(tables.documents.getRange({}), ({ key: [collection], value }) => ({
            collection,
            ...value,
          })),
        ),
      ),
    async backup(to) {
      await mkdir(to, { mode: 0o700 });
      await tables.copyTo(to);
      const copy = join(to, DATA_FILE);
      await chmod(copy, 0o600);
      for (const written of [copy, to]) await flush(written);
    },
    close: () => tables.close(),
  };
}

/** What was acknowledged must survive a power cut. */
async function flush(path: string): Promise<void> {
  const handle = await open(path, 'r');
  await handle.sync();
  await handle.close();
}
