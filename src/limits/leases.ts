// Counts requests against leases: a process takes a hundredth of a quota in one atomic step and counts it down alone, so almost
// no request asks the store. The rest of a lease is lost when its window ends. Together, the processes never allow more requests
// than the limit.
import type { Clock } from '../store/store.ts';
import { Remembered } from './bounded-map.ts';
import { type Add, type Quota, windowOf } from './counters.ts';

type Lease = {
  /** Requests that may still pass. */
  left: number;
  /** Whether no process may take more until `endsAt`. */
  isUsedUp: boolean;
  endsAt: number;
  asking: Promise<void> | undefined;
};

const newLease = (): Lease => ({ left: 0, isUsedUp: false, endsAt: 0, asking: undefined });

export function createLeases(add: Add, now: Clock) {
  const leases = new Remembered<Lease>();

  async function refill(lease: Lease, quota: Quota): Promise<void> {
    const { limit } = quota.rate;
    const points = Math.max(1, Math.floor(limit / 100));
    try {
      const { count, resetsInMs } = await add(quota, points);
      lease.left = Math.max(0, points - Math.max(0, count - limit));
      lease.isUsedUp = count >= limit;
      lease.endsAt = now() + Math.min(resetsInMs, windowOf(quota));
    } finally {
      lease.asking = undefined;
    }
  }

  /** Counts one request. Resolves 0 if it may pass, otherwise the milliseconds until the next one may. */
  return async function take(quota: Quota): Promise<number> {
    const { name, rate, subject } = quota;
    const lease = leases.getOrAdd(`${name}\n${rate.limit}/${rate.windowSeconds}\n${subject}`, newLease);
    for (;;) {
      const leftMs = lease.endsAt - now();
      // If the clock was set back, more time is left than a window has.
      const isOpen = leftMs > 0 && leftMs <= windowOf(quota);
      if (isOpen && lease.left > 0) {
        lease.left -= 1;
        return 0;
      }
      if (isOpen && lease.isUsedUp) return Math.max(1, leftMs);
      lease.asking ??= refill(lease, quota);
      await lease.asking;
    }
  };
}
