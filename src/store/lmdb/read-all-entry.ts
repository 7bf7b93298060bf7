// A process of its own that reads every row of the store in a folder, because LMDB ends with SIGBUS where the file is cut off.
import { openTables } from './tables.ts';

async function readAll(folder: string): Promise<void> {
  const tables = openTables(folder);
  const { records, aliases, grants, tombstones, documents, counters, expiry } = tables;
  for (const table of [records, aliases, grants, tombstones, documents, counters, expiry]) {
    for (const row of table.getRange({})) void row;
  }
  await tables.close();
}

// Absent where this module is imported outside of that process.
const [, , folder] = process.argv;
if (folder !== undefined) await readAll(folder);
