// Counting while the store is away: after a failure nobody asks it again for a moment, so that an outage costs one
// request its patience and not every one. Owns no count; who is refused here counts in its own process.
import { type CounterStore, StoreUnavailable } from '../store/store.ts';

const PAUSE_MS = 1000;

/** The same counters, which reject at once for a second after they could not be asked. `uptime` in milliseconds. */
export function withPause(
  counters: CounterStore,
  uptime: () => number = () => performance.now(),
): CounterStore {
  let pausedUntil = -Infinity;

  async function ask<T>(action: () => Promise<T>): Promise<T> {
    if (uptime() < pausedUntil) throw new StoreUnavailable();
    try {
      return await action();
    } catch (error) {
      pausedUntil = uptime() + PAUSE_MS;
      throw error;
    }
  }

  return {
    increment: (key, by, windowMs, renew) => ask(() => counters.increment(key, by, windowMs, renew)),
    read: (key) => ask(() => counters.read(key)),
    set: (key, count, windowMs) => ask(() => counters.set(key, count, windowMs)),
    remove: (key) => ask(() => counters.remove(key)),
  };
}
