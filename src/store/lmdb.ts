// The embedded store: one folder on a local disk, shared by every process of one machine. Owns opening and closing;
// never for a network disk, where lmdb's locks and memory map mean nothing.
import { constants } from 'node:fs';
import { access, mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { createLmdbCounters } from './lmdb-counters.ts';
import { createLmdbDocuments } from './lmdb-documents.ts';
import { createLmdbRecords } from './lmdb-records.ts';
import { startSweep } from './lmdb-sweep.ts';
import { type LmdbTables, openTables } from './lmdb-tables.ts';
import type { Clock, Store } from './store.ts';

const SWEEP_EVERY_MS = 15_000;
/** Of lmdb's format, at this place of each file (lmdb 3.5). */
const MAGIC = { offset: 24, value: 0xbeefc0de };

export type LmdbOptions = {
  /** Made when it is missing, for this user alone. */
  readonly folder: string;
  readonly now: Clock;
  readonly sweepEveryMs?: number | undefined;
};

/** Rejects with one line that names the folder when it can't be used. */
export async function openLmdb({ folder, now, sweepEveryMs = SWEEP_EVERY_MS }: LmdbOptions): Promise<Store> {
  const tables = await openFolder(folder);
  const sweep = startSweep(tables, { now, everyMs: sweepEveryMs });
  return {
    // One machine has one clock.
    clock: { now, ahead: 0 },
    records: createLmdbRecords(tables, now),
    documents: createLmdbDocuments(tables),
    counters: createLmdbCounters(tables, now),
    async ping() {
      tables.read(() => tables.documents.doesExist(['', '']));
    },
    async close() {
      await sweep.stop();
      await tables.close();
    },
  };
}

/** Rejects with one line that an operator can act on. */
export async function openFolder(folder: string): Promise<LmdbTables> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    await assertLmdbFile(join(folder, 'data.mdb'));
    return openTables(folder);
  } catch (cause) {
    throw new Error(`the store folder ${folder} can not be opened: ${reasonOf(cause)}`, { cause });
  }
}

/** lmdb 3.5.6 ends the whole process (a segmentation fault) when the file is anything else. */
async function assertLmdbFile(path: string): Promise<void> {
  const file = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600);
  try {
    const { size } = await file.stat();
    if (size === 0) return;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, MAGIC.offset);
    if (bytesRead < 4 || buffer.readUInt32LE() !== MAGIC.value) throw new Error('data.mdb is not a store');
  } finally {
    await file.close();
  }
}

/** The code alone where there is one: the texts of mkdir and of lmdb repeat the path. */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  return 'code' in cause && typeof cause.code === 'string'
    ? cause.code
    : (cause.message.split('\n')[0] ?? '');
}
