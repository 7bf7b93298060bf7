// Requests pass from a lease: a process takes a part of what is left of a quota in one atomic step and counts it down by
// itself, so nearly no request asks the store. What is left of a lease when its window ends is lost, and that is never more
// than a hundredth of the limit. Together the processes never let more pass than the limit says.
//
// One exception: with a limit of a hundred or more the first request of a window doesn't wait for the first lease, so the
// limit may be exceeded by one a process.
import type { Clock } from '../store/store.ts';
import { BoundedMap } from './bounded-map.ts';
import type { Add, Quota } from './counters.ts';

/** A lease is this part of what is left. */
const PARTS = 100;

type Lease = {
  /** Requests that may still pass; -1 where one has passed that isn't counted yet. */
  left: number;
  /** The end of the window that `left` and `used` are of. */
  endsAt: number;
  /** Of the quota, by all processes, when the store was last asked. */
  used: number;
  /** Requests that wait until the store has been asked. */
  waiting: number;
  asking: Promise<void> | undefined;
};

export function createLeases(add: Add, now: Clock) {
  const leases = new BoundedMap<Lease>(
    () => ({ left: 0, endsAt: 0, used: 0, waiting: 0, asking: undefined }),
    ({ asking }) => asking === undefined,
  );
  const untilEnd = ({ endsAt }: Lease) => Math.max(1, endsAt - now());

  /** Takes what all who wait need, or a part of what is left of the quota if that is more. */
  async function refill(lease: Lease, quota: Quota): Promise<void> {
    const { limit } = quota.rate;
    const points = Math.max(lease.waiting, Math.floor((limit - lease.used) / PARTS));
    try {
      const { count, resetsInMs } = await add(quota, points);
      lease.left += Math.max(0, points - Math.max(0, count - limit));
      lease.used = Math.min(count, limit);
      lease.endsAt = now() + resetsInMs;
    } finally {
      lease.asking = undefined;
    }
  }

  async function takeAfterRefill(lease: Lease, quota: Quota): Promise<number> {
    for (;;) {
      lease.waiting += 1;
      lease.asking ??= refill(lease, quota);
      try {
        await lease.asking;
      } finally {
        lease.waiting -= 1;
      }
      if (lease.left > 0) {
        lease.left -= 1;
        return 0;
      }
      if (lease.used >= quota.rate.limit) return untilEnd(lease);
    }
  }

  /** Counts one request. 0: it may pass; else the milliseconds to wait before another one may. */
  return function take(quota: Quota): number | Promise<number> {
    const { name, rate, subject } = quota;
    const lease = leases.get(`${name}\n${rate.limit}/${rate.windowSeconds}\n${subject}`);
    const isOpen = now() < lease.endsAt;
    if (isOpen && lease.left > 0) {
      lease.left -= 1;
      return 0;
    }
    if (isOpen && lease.used >= rate.limit) return untilEnd(lease);
    if (isOpen || lease.asking !== undefined) return takeAfterRefill(lease, quota);
    Object.assign(lease, { left: 0, used: 0 });
    if (rate.limit < PARTS) return takeAfterRefill(lease, quota);
    // Counted, but not waited for. A store that can't be asked is met by the next request that waits.
    lease.left = -1;
    lease.asking = refill(lease, quota);
    lease.asking.catch(() => undefined);
    return 0;
  };
}
