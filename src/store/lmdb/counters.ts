// Counters in lmdb: fixed windows that all workers of the machine share. Limits are defined elsewhere.
import { toKeyName } from '../key-name.ts';
import type { CounterRow, LmdbTables } from './tables.ts';
import type { Clock, CounterStore } from '../store.ts';

export function createLmdbCounters(tables: LmdbTables, now: Clock): CounterStore {
  function findRow(name: string, at: number): CounterRow | undefined {
    const row = tables.counters.get(name);
    return row !== undefined && row.endsAt > at ? row : undefined;
  }

  function drop(name: string): void {
    const old = tables.counters.get(name);
    if (old === undefined) return;
    void tables.counters.remove(name);
    void tables.expiry.remove([old.endsAt, 'counter', name]);
  }

  return {
    async increment(key, by, windowMs, renew = false) {
      const name = toKeyName(key);
      return tables.write(() => {
        const at = now();
        const row = findRow(name, at);
        // A decrement after the window ended must not open a new one.
        if (row === undefined && by <= 0) return { count: 0, resetsInMs: 0 };
        const count = Math.max(0, (row?.count ?? 0) + by);
        // Third case: the clock was set back, which would make the window last longer.
        if (row === undefined || (renew && by > 0) || row.endsAt - at > windowMs) {
          drop(name);
          void tables.counters.put(name, { count, endsAt: at + windowMs });
          void tables.expiry.put([at + windowMs, 'counter', name], true);
          return { count, resetsInMs: windowMs };
        }
        void tables.counters.put(name, { ...row, count });
        return { count, resetsInMs: row.endsAt - at };
      });
    },

    async read(key) {
      const name = toKeyName(key);
      return tables.read(() => {
        const at = now();
        const row = findRow(name, at);
        return row && { count: row.count, resetsInMs: row.endsAt - at };
      });
    },

    async remove(key) {
      const name = toKeyName(key);
      await tables.write(() => drop(name));
    },
  };
}
