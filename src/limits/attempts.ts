// Attempts with a secret or a password: counted in the shared counter before anything is compared, taken back when they
// were right. Several counters are one attempt, and all of them are asked in one round trip.
import type { Clock } from '../store/store.ts';
import { BoundedMap } from './bounded-map.ts';
import type { Counted, Counting } from './counting.ts';

/** Who was refused is refused for so long without asking the store again. Short, because others take attempts back. */
const REMEMBER_MS = 1000;

export type Attempt = {
  /** No other attempt stands in the first counter: nothing has failed there, and nobody is trying. */
  readonly isOnly: boolean;
  /** What stands in the first counter, this attempt included. */
  readonly used: number;
  /** For the name of the counter that refuses, and how long. */
  readonly refused?: { readonly name: string; readonly waitMs: number } | undefined;
  /** It was right, or nothing was compared. */
  takeBack(): void;
};

export interface Attempts {
  begin(counted: readonly Counted[]): Promise<Attempt>;
  /** Counts a failure that was not counted before. */
  fail(counted: readonly Counted[]): Promise<void>;
  /** This process doesn't remember any more that `counted` refused: it was cleared. */
  forget(counted: readonly Counted[]): void;
}

type Refusal = { waitUntil: number; rememberedUntil: number };

export function createAttempts(counting: Counting, now: Clock): Attempts {
  const refusals = new BoundedMap<Refusal>(
    () => ({ waitUntil: 0, rememberedUntil: 0 }),
    () => true,
  );
  const refusalOf = ({ name, subject }: Counted) => refusals.get(`${name}\n${subject}`);

  /** What this process remembers. */
  function refusedBefore(counted: readonly Counted[]): Attempt['refused'] {
    for (const one of counted) {
      const { waitUntil, rememberedUntil } = refusalOf(one);
      if (now() < rememberedUntil && now() < waitUntil) return { name: one.name, waitMs: waitUntil - now() };
    }
    return undefined;
  }

  /** To all or to none: where one of them can't be asked, nothing is compared, and the others must not keep the attempt. */
  async function addToAll(counted: readonly Counted[]) {
    const asked = await Promise.allSettled(
      counted.map(async (one) => ({ one, ...(await counting.add(one, 1)) })),
    );
    const taken = asked.filter((result) => result.status === 'fulfilled').map(({ value }) => value);
    const failed = asked.find((result) => result.status === 'rejected');
    if (failed === undefined) return taken;
    for (const { one } of taken) counting.takeBack(one);
    throw failed.reason;
  }

  return {
    async begin(counted) {
      const before = refusedBefore(counted);
      if (before !== undefined) return { isOnly: false, used: 0, refused: before, takeBack: () => undefined };
      const taken = await addToAll(counted);
      const takeBack = () => counted.forEach((one) => counting.takeBack(one));
      const over = taken.find(({ one, used }) => used > one.rate.limit);
      const used = taken[0]?.used ?? 0;
      if (over === undefined) return { isOnly: used === 1, used, takeBack };
      // Nothing is compared, so nothing is counted: a refusal must not make the next one likelier.
      takeBack();
      const waitMs = Math.max(1, over.resetsInMs);
      Object.assign(refusalOf(over.one), {
        waitUntil: now() + waitMs,
        rememberedUntil: now() + REMEMBER_MS,
      });
      return { isOnly: false, used, refused: { name: over.one.name, waitMs }, takeBack: () => undefined };
    },

    forget(counted) {
      for (const one of counted) Object.assign(refusalOf(one), { waitUntil: 0, rememberedUntil: 0 });
    },

    async fail(counted) {
      await Promise.all(counted.map((one) => counting.add(one, 1)));
    },
  };
}
