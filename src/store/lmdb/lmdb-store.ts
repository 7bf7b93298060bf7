// The embedded store: one folder on a local disk, shared by all processes of one machine. Never a network disk, where lmdb's
// locks and memory map don't work.
import { createLmdbCounters } from './counters.ts';
import { createLmdbDocuments } from './documents.ts';
import { assertRoom, prepareFiles, watchDataFiles } from './files.ts';
import { createLmdbIndex } from './index-entries.ts';
import { createLmdbRecords } from './records.ts';
import { inWholeMs } from '../lifetime.ts';
import { startSweep } from './sweep.ts';
import { type LmdbTables, openTables } from './tables.ts';
import type { Clock, Store } from '../store.ts';

const SWEEP_EVERY_MS = 15_000;
const PROBE_LIFE_MS = 60_000;
/** How long a probe is valid. A write of each process at each scrape and health check would delay the writes of requests. */
const PROBE_COUNTS_MS = 1000;

type LmdbOptions = Readonly<{
  /** Created if missing, with access for this system user only. */
  folder: string;
  now: Clock;
  sweepEveryMs?: number | undefined;
}>;

/** Rejects with one line that names the folder when it can't be used. */
export async function openLmdb({
  folder,
  sweepEveryMs = SWEEP_EVERY_MS,
  ...options
}: LmdbOptions): Promise<Store> {
  const now = inWholeMs(options.now);
  const tables = await openFolder(folder);
  const assertSame = await watchDataFiles(folder);
  const stopSweep = startSweep(tables, { now, everyMs: sweepEveryMs });
  const counters = createLmdbCounters(tables, now);
  let probedAt = -Infinity;
  return {
    clock: { now, ahead: 0 },
    records: createLmdbRecords(tables, now),
    documents: createLmdbDocuments(tables),
    index: createLmdbIndex(tables),
    counters,
    async ping() {
      await assertSame();
      if (performance.now() - probedAt < PROBE_COUNTS_MS) return;
      await assertRoom(folder);
      await counters.increment('readiness', 1, PROBE_LIFE_MS);
      probedAt = performance.now();
    },
    async close() {
      await stopSweep();
      await tables.close();
    },
  };
}

/** Rejects with one line that names the folder and the reason. */
export async function openFolder(folder: string): Promise<LmdbTables> {
  try {
    await prepareFiles(folder);
    return openTables(folder);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    // The code alone where there is one: the texts of mkdir and of lmdb repeat the path.
    const reason = typeof code === 'string' ? code : message.split('\n', 1)[0];
    throw new Error(`the store folder ${folder} can't be opened: ${reason}`, { cause });
  }
}
