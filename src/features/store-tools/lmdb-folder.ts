// Reads all tables of lmdb, for commands of an administrator.
import { chmod, mkdir, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DATA_FILE } from '../../store/lmdb/files.ts';
import { openFolder } from '../../store/lmdb/lmdb-store.ts';
import type { LmdbTables } from '../../store/lmdb/tables.ts';

/** Rejects if no service has created a store yet. Creates none, because an empty copy is no backup. */
async function useFolder<T>(folder: string, use: (tables: LmdbTables) => T | Promise<T>): Promise<T> {
  await stat(join(folder, DATA_FILE)).catch((cause: unknown) => {
    throw new Error(`there is no store in ${folder}`, { cause });
  });
  const tables = await openFolder(folder);
  try {
    return await use(tables);
  } finally {
    await tables.close();
  }
}

/** Resolves all documents, each with its collection. */
export const exportDocuments = (folder: string) =>
  useFolder(folder, (tables) =>
    tables.read(() =>
      Array.from(tables.documents.getRange({}), ({ key: [collection], value }) => ({ collection, ...value })),
    ),
  );

/** Copies everything to a folder that must not exist. The service may run. */
export async function copyFolder(folder: string, to: string): Promise<void> {
  await useFolder(folder, async (tables) => {
    await mkdir(to, { mode: 0o700 });
    await tables.copyTo(to);
    const copy = join(to, DATA_FILE);
    await chmod(copy, 0o600);
    for (const written of [copy, to]) await flush(written);
  });
}

/** Acknowledged writes must survive a power cut. */
async function flush(path: string): Promise<void> {
  const handle = await open(path, 'r');
  await handle.sync();
  await handle.close();
}
