// Counters in lmdb: fixed windows that all workers of the machine share. Limits are defined elsewhere.
import { toKeyName } from '../key-name.ts';
import type { CounterRow, LmdbTables } from './tables.ts';
import type { Clock, CounterStore } from '../store.ts';

/** Above every limit: the count of a damaged row isn't known, so it must not allow another attempt. */
const DAMAGED: CounterRow = { count: 1e9, endsAt: Infinity };
const FULL_MS = 3_600_000;

export function createLmdbCounters(tables: LmdbTables, now: Clock): CounterStore {
  function readRow(name: string): CounterRow | undefined {
    try {
      const row = tables.counters.get(name);
      if (row === undefined || [row.count, row.endsAt].every(Number.isFinite)) return row;
    } catch {
      // Throws if the read itself fails, not only the decoding of the row.
      tables.counters.getBinary(name);
    }
    return DAMAGED;
  }

  /** Call it in a transaction only, like the functions below. Replaces a damaged row. */
  function findRow(name: string): CounterRow | undefined {
    const row = readRow(name);
    return row === DAMAGED ? open(name, { ...row, endsAt: now() + FULL_MS }) : row;
  }

  function open(name: string, row: CounterRow): CounterRow {
    drop(name);
    void tables.counters.put(name, row);
    void tables.expiry.put([row.endsAt, 'counter', name], true);
    return row;
  }

  function drop(name: string): void {
    const old = readRow(name);
    if (old === undefined) return;
    void tables.counters.remove(name);
    void tables.expiry.remove([old.endsAt, 'counter', name]);
  }

  return {
    async increment(key, by, windowMs, renew = false) {
      const name = toKeyName(key);
      return tables.write(() => {
        const at = now();
        const found = findRow(name);
        const row = found && found.endsAt > at ? found : undefined;
        // A decrement after the window ended must not open a new one.
        if (row === undefined && by <= 0) return { count: 0, resetsInMs: 0 };
        const count = Math.max(0, (row?.count ?? 0) + by);
        // Third case: the clock was set back, which would make the window last longer.
        if (row === undefined || (renew && by > 0) || row.endsAt - at > windowMs) {
          open(name, { count, endsAt: at + windowMs });
          return { count, resetsInMs: windowMs };
        }
        void tables.counters.put(name, { ...row, count });
        return { count, resetsInMs: row.endsAt - at };
      });
    },

    async read(key) {
      const name = toKeyName(key);
      const found = tables.read(() => readRow(name));
      const row = found === DAMAGED ? await tables.write(() => findRow(name)) : found;
      const resetsInMs = (row?.endsAt ?? 0) - now();
      return row && resetsInMs > 0 ? { count: row.count, resetsInMs } : undefined;
    },

    async remove(key) {
      const name = toKeyName(key);
      await tables.write(() => drop(name));
    },
  };
}
