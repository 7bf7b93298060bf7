// Attempts with a secret or a password: counted in the shared counters before anything is compared, taken back when they
// were right. Several counters are one attempt, and all of them are asked in one round trip.
import type { Clock } from '../store/store.ts';
import { BoundedMap } from './bounded-map.ts';
import { type Add, giveBack, type Quota } from './counters.ts';

/** A refusal is cached so that a flood doesn't reach the store. Short, because others take attempts back. */
const CACHED_MS = 1000;

/** The name of the quota that is used up, and how long to wait. */
export type LimitRefusal = { readonly name: string; readonly waitMs: number };

type CountedAttempt = {
  /** What stands in the first counter, this attempt included. */
  readonly used: number;
  readonly refused?: LimitRefusal | undefined;
  /** It was right, or nothing was compared. */
  readonly takeBack: () => void;
};

export type Attempts = ReturnType<typeof createAttempts>;

export function createAttempts(add: Add, now: Clock) {
  const refusals = new BoundedMap(() => ({ waitUntil: 0, cachedUntil: 0 }));
  const cacheOf = ({ name, subject }: Quota) => refusals.get(`${name}\n${subject}`);

  function cachedRefusal(quotas: readonly Quota[]): LimitRefusal | undefined {
    for (const quota of quotas) {
      const { waitUntil, cachedUntil } = cacheOf(quota);
      const at = now();
      if (at < cachedUntil && at < waitUntil) return { name: quota.name, waitMs: waitUntil - at };
    }
    return undefined;
  }

  /** To all or to none: where one of them can't be asked, nothing is compared, and the others must not keep the attempt. */
  async function addToAll(quotas: readonly Quota[]) {
    const asked = await Promise.allSettled(
      quotas.map(async (quota) => ({ quota, ...(await add(quota, 1)) })),
    );
    const taken = asked.filter((result) => result.status === 'fulfilled').map(({ value }) => value);
    const failed = asked.find((result) => result.status === 'rejected');
    if (failed === undefined) return taken;
    for (const { quota } of taken) giveBack(add, quota);
    throw failed.reason;
  }

  return {
    async begin(quotas: readonly Quota[]): Promise<CountedAttempt> {
      const cached = cachedRefusal(quotas);
      if (cached !== undefined) return { used: 0, refused: cached, takeBack: () => undefined };
      const taken = await addToAll(quotas);
      const takeBack = () => quotas.forEach((quota) => giveBack(add, quota));
      const over = taken.find(({ quota, count }) => count > quota.rate.limit);
      const used = taken[0]?.count ?? 0;
      if (over === undefined) return { used, takeBack };
      // Nothing is compared, so nothing is counted: a refusal must not make the next one likelier.
      takeBack();
      const waitMs = Math.max(1, over.resetsInMs);
      Object.assign(cacheOf(over.quota), { waitUntil: now() + waitMs, cachedUntil: now() + CACHED_MS });
      return { used, refused: { name: over.quota.name, waitMs }, takeBack: () => undefined };
    },
    /** Counts a failure that was not counted before. */
    async fail(quotas: readonly Quota[]): Promise<void> {
      await Promise.all(quotas.map((quota) => add(quota, 1)));
    },
    /** Drops a cached refusal of quotas that were cleared. */
    forget(quotas: readonly Quota[]): void {
      for (const quota of quotas) Object.assign(cacheOf(quota), { waitUntil: 0, cachedUntil: 0 });
    },
  };
}
