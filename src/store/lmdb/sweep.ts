// Deletes expired rows, found by the expiry index. Reads never depend on it: it only keeps the file small. Every process sweeps;
// concurrent sweeps are harmless.
import { setInterval, setTimeout as delay } from 'node:timers/promises';
import { dropRecord, readRow } from './records.ts';
import type { ExpiryKey, LmdbTables } from './tables.ts';
import type { Clock } from '../store.ts';

/** A transaction blocks the event loop and all writers of the folder. A single row on disk can take a millisecond. */
const BATCH_MS = 2;
const BATCH_ROWS = 100;
/** Times the duration of the last batch with its commit. Requests write meanwhile; bench/sections/expiry.ts measures the loss. */
const PAUSE = 6;
const PAUSE_MS = { least: 25, most: 150 };

/** Sweeps every `everyMs`, until the returned function is called. The timers don't keep the process alive. */
export function startSweep(
  tables: LmdbTables,
  { now, everyMs }: { now: Clock; everyMs: number },
): () => Promise<void> {
  const stopped = new AbortController();
  const { signal } = stopped;

  async function sweepAll(): Promise<void> {
    tables.forgetDeadReaders();
    for (let begin = performance.now(); await sweepBatch(tables, now()); begin = performance.now()) {
      const pauseMs = PAUSE * (performance.now() - begin);
      const ms = Math.min(PAUSE_MS.most, Math.max(PAUSE_MS.least, pauseMs));
      await delay(ms, undefined, { ref: false, signal });
    }
  }

  async function sweepAgain(): Promise<void> {
    // A failed sweep (a full disk) is repeated at the next tick; callers see the failure in their own calls.
    for await (const _ of setInterval(everyMs, undefined, { ref: false, signal }))
      await sweepAll().catch(() => undefined);
  }

  const running = sweepAgain().catch(() => undefined);
  return async () => {
    stopped.abort();
    await running;
  };
}

/** Deletes at most one batch. False: nothing more is due. */
async function sweepBatch(tables: LmdbTables, at: number): Promise<boolean> {
  const due = (limit: number) => Array.from(tables.expiry.getKeys({ end: endOf(at), limit }));
  if (tables.read(() => due(1)).length === 0) return false;
  return tables.write(() => {
    const end = performance.now() + BATCH_MS;
    const keys = due(BATCH_ROWS);
    const kept = keys.findIndex((key) => {
      dropExpired(tables, key);
      return performance.now() > end;
    });
    return keys.length === BATCH_ROWS || kept >= 0;
  });
}

/** Sorts after all rows that expire at `at` or before. */
const endOf = (at: number): ExpiryKey => [at + 1, 'counter', ''];

function dropExpired(tables: LmdbTables, key: ExpiryKey): void {
  const [expiresAt, table, id] = key;
  void tables.expiry.remove(key);
  const row = table === 'record' ? readRow(tables, id) : undefined;
  if (table === 'record' && row === undefined) void tables.records.remove(id);
  // A damaged row may have been replaced meanwhile.
  if (row !== undefined && row.expiresAt <= expiresAt) dropRecord(tables, id, row);
  if (table === 'tombstone') void tables.tombstones.remove(id);
  if (table === 'counter') void tables.counters.remove(id);
}
