// Requests against a limit that all processes share, without asking the store each time. A process takes a share of what
// is left of the limit in one atomic step and lets requests pass from it; what it doesn't use in the window is lost, and
// that is never more than a hundredth of the limit. So together the processes never let more pass than the limit says.
//
// One exception: with a limit of a hundred or more the first request of a window doesn't wait for the first share, which
// is fetched behind it. So an ordinary caller waits for the store never, and the limit may be exceeded by one a process.
import type { Clock } from '../store/store.ts';
import { BoundedMap } from './bounded-map.ts';
import type { Counted, Counting } from './counting.ts';

/** A share is this part of what is left. */
const PARTS = 100;

type Allowance = {
  /** Requests that may still pass from the share. */
  left: number;
  /** The end of the window that `left` and `isUsedUp` are of. */
  endsAt: number;
  /** The limit is reached: nothing is left in the store either. */
  isUsedUp: boolean;
  /** Points used in this window by all processes, when the store was last asked. */
  used: number;
  isAsking: boolean;
  waiting: Waiter[];
};
type Waiter = { readonly resolve: (waitMs: number) => void; readonly reject: (error: unknown) => void };

export interface Allowances {
  /** True: one request is counted and may pass, from a share that is here. False: ask `take`. */
  passes(counted: Counted): boolean;
  /** Counts one request. 0: it may pass; else the milliseconds to wait before another one may. */
  take(counted: Counted): Promise<number>;
}

export function createAllowances(counting: Counting, now: Clock): Allowances {
  const allowances = new BoundedMap<Allowance>(
    () => ({ left: 0, endsAt: 0, isUsedUp: false, used: 0, isAsking: false, waiting: [] }),
    ({ isAsking }) => !isAsking,
  );

  /** What was asked for together comes in one step: all who wait now, or a share if that is more. */
  async function ask(allowance: Allowance, counted: Counted): Promise<void> {
    const { limit } = counted.rate;
    allowance.isAsking = true;
    while (allowance.waiting.length > 0) {
      allowance.waiting.splice(0, allowance.left).forEach(({ resolve }) => {
        allowance.left -= 1;
        resolve(0);
      });
      const asking = allowance.waiting.splice(0);
      if (asking.length === 0) break;
      const share = Math.floor((limit - allowance.used) / PARTS);
      const points = Math.max(asking.length, share);
      try {
        const { used, resetsInMs } = await counting.add(counted, points);
        const granted = Math.min(points, Math.max(0, points - (used - limit)));
        allowance.left = Math.max(0, granted - asking.length);
        allowance.used = Math.min(used, limit);
        allowance.isUsedUp = used >= limit;
        allowance.endsAt = now() + resetsInMs;
        asking.forEach(({ resolve }, index) => resolve(index < granted ? 0 : Math.max(1, resetsInMs)));
      } catch (error) {
        asking.forEach(({ reject }) => reject(error));
      }
    }
    allowance.isAsking = false;
  }

  function enqueue(allowance: Allowance, counted: Counted): Promise<number> {
    return new Promise((resolve, reject) => {
      allowance.waiting.push({ resolve, reject });
      if (!allowance.isAsking) void ask(allowance, counted);
    });
  }

  const find = ({ name, rate, subject }: Counted) =>
    allowances.get(`${name}\n${rate.limit}/${rate.windowSeconds}\n${subject}`);

  return {
    passes(counted) {
      const allowance = find(counted);
      if (allowance.left <= 0 || now() >= allowance.endsAt) return false;
      allowance.left -= 1;
      return true;
    },
    async take(counted) {
      const { rate } = counted;
      const allowance = find(counted);
      const at = now();
      const isNewWindow = at >= allowance.endsAt;
      if (isNewWindow && !allowance.isAsking) Object.assign(allowance, { left: 0, used: 0, isUsedUp: false });
      if (!isNewWindow && allowance.left > 0) {
        allowance.left -= 1;
        return 0;
      }
      if (!isNewWindow && allowance.isUsedUp) return Math.max(1, allowance.endsAt - at);
      if (isNewWindow && !allowance.isAsking && rate.limit >= PARTS) {
        // Counted, but not waited for. A store that can't be asked is met by whoever waits for it.
        enqueue(allowance, counted).catch(() => undefined);
        return 0;
      }
      return enqueue(allowance, counted);
    },
  };
}
