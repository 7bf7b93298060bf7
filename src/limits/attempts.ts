// Counts attempts with a secret or a password in the shared counters before the comparison, and takes them back if it was
// right. One attempt can count in several counters, in one round trip.
import { type Add, giveBack, type Quota } from './counters.ts';

/** The name of the quota that is used up, and how long to wait. */
export type LimitRefusal = Readonly<{ name: string; waitMs: number }>;

type CountedAttempt = Readonly<{
  /** The count of each counter, including this attempt. Empty if it is refused. */
  used: readonly number[];
  refused?: LimitRefusal | undefined;
  /** Called if the attempt was right, or nothing was compared. */
  takeBack: () => void;
}>;

export type BeginAttempt = ReturnType<typeof createAttempts>;

export function createAttempts(add: Add) {
  /** Counts in all quotas or in none: if one is used up or fails, nothing is compared, and the others must not keep the attempt. */
  return async function beginAttempt(quotas: readonly Quota[]): Promise<CountedAttempt> {
    const asked = await Promise.allSettled(
      quotas.map(async (quota) => ({ quota, ...(await add(quota, 1)) })),
    );
    const taken = asked.filter((result) => result.status === 'fulfilled').map(({ value }) => value);
    const takeBack = () => taken.forEach(({ quota }) => giveBack(add, quota));
    const failed = asked.find((result) => result.status === 'rejected');
    const over = taken.find(({ quota, count }) => count > quota.rate.limit);
    if (failed === undefined && over === undefined)
      return { used: taken.map(({ count }) => count), takeBack };
    takeBack();
    if (over === undefined) throw failed?.reason;
    const refused = { name: over.quota.name, waitMs: Math.max(1, over.resetsInMs) };
    return { used: [], refused, takeBack: () => undefined };
  };
}
