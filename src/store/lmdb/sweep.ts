// Deletes what has expired, in bounded batches, from the index by time. Reads never depend on it: it only keeps the
// file small. Every process sweeps; two that meet do the same harmless thing.
import { readClock } from '../lifetime.ts';
import { dropRecord } from './records.ts';
import type { ExpiryKey, LmdbTables } from './tables.ts';
import type { Clock } from '../store.ts';

/** A transaction holds up every writer of the folder, so it stays around a millisecond. */
const BATCH = 200;

/** Sweeps every `everyMs`, until what it returns is called. The timer doesn't keep the process alive. */
export function startSweep(
  tables: LmdbTables,
  { now, everyMs }: { now: Clock; everyMs: number },
): () => Promise<void> {
  const stopped = new AbortController();
  let running: Promise<void> = Promise.resolve();

  async function sweepAll(): Promise<void> {
    tables.forgetDeadReaders();
    for (let deleted = BATCH; deleted === BATCH && !stopped.signal.aborted;) {
      deleted = await sweepBatch(tables, readClock(now));
    }
  }

  const timer = setInterval(() => {
    // A failed sweep (a full disk) is repeated at the next tick; callers see the failure in their own calls.
    running = running.then(sweepAll).catch(() => undefined);
  }, everyMs);
  timer.unref();

  return async () => {
    stopped.abort();
    clearInterval(timer);
    await running;
  };
}

/** Deletes at most one batch and says how many rows it was. */
async function sweepBatch(tables: LmdbTables, at: number): Promise<number> {
  const hasWork = tables.read(
    () => Array.from(tables.expiry.getKeys({ end: endOf(at), limit: 1 })).length > 0,
  );
  if (!hasWork) return 0;
  return tables.write(() => {
    const due = Array.from(tables.expiry.getKeys({ end: endOf(at), limit: BATCH }));
    for (const key of due) dropExpired(tables, key);
    return due.length;
  });
}

/** Sorts after everything that ends at `at` or before. */
function endOf(at: number): ExpiryKey {
  return [at + 1, 'counter', ''];
}

function dropExpired(tables: LmdbTables, key: ExpiryKey): void {
  const [, table, id] = key;
  void tables.expiry.remove(key);
  const row = table === 'record' ? tables.records.get(id) : undefined;
  if (row !== undefined) dropRecord(tables, id, row);
  if (table === 'tombstone') void tables.tombstones.remove(id);
  if (table === 'counter') void tables.counters.remove(id);
}
