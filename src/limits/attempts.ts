// Attempts with a secret or a password: counted in the shared counters before anything is compared, taken back when they
// were right. Several counters are one attempt, and all of them are asked in one round trip.
import { type Add, giveBack, type Quota } from './counters.ts';

/** The name of the quota that is used up, and how long to wait. */
export type LimitRefusal = { readonly name: string; readonly waitMs: number };

type CountedAttempt = Readonly<{
  /** What stands in each counter, this attempt included; empty where it is refused. */
  used: readonly number[];
  refused?: LimitRefusal | undefined;
  /** It was right, or nothing was compared. */
  takeBack: () => void;
}>;

export type BeginAttempt = ReturnType<typeof createAttempts>;

export function createAttempts(add: Add) {
  /** To all or to none: where one is used up or can't be asked, nothing is compared, and the others must not keep the attempt. */
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
