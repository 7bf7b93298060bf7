// Counts on rate-limiter-flexible over the counters of the store. Owns what a count is called in the store, and what
// happens without it; what is counted, and who is refused, is decided by those who ask.
import { RateLimiterMemory, RateLimiterRes, type RateLimiterAbstract } from 'rate-limiter-flexible';
import type { Rate } from '../config/config.ts';
import type { KeyedHash } from '../store/keyed-hash.ts';
import type { CounterStore } from '../store/store.ts';
import { CounterLimiter } from './counter-limiter.ts';
import { withPause } from './outage.ts';

/** What is counted: `rate` points for `subject` under `name`. */
export type Counted = { readonly name: string; readonly rate: Rate; readonly subject: string };

export type Taken = {
  /** Points used in this window, ours included. */
  readonly used: number;
  /** Until the window ends. */
  readonly resetsInMs: number;
};

export interface Counting {
  /** Adds `points` in one atomic step. Never refuses: `used` may be more than the limit. */
  add(counted: Counted, points: number): Promise<Taken>;
  /** The same, and the window ends as long from now as it takes. Asks the store, or throws StoreUnavailable. */
  renew(counted: Counted, points: number): Promise<Taken>;
  /** Takes one point back, in the background: nobody waits for it, and a lost one only counts once too often. */
  takeBack(counted: Counted): void;
  /** What stands there, or undefined where no window is open. */
  read(counted: Counted): Promise<Taken | undefined>;
  clear(counted: Counted): Promise<void>;
  /** Stands at one from now on, for a whole window. */
  mark(counted: Counted): Promise<void>;
}

export type CountingParts = {
  readonly counters: CounterStore;
  readonly hash: KeyedHash;
  /** True: without the store each process counts for itself. False: without it `add` throws StoreUnavailable. */
  readonly goesOnAlone: boolean;
};

export function createCounting({ counters, hash, goesOnAlone }: CountingParts): Counting {
  const shared = goesOnAlone ? withPause(counters) : counters;
  const limiters = new Map<string, RateLimiterAbstract>();

  function limiterOf({ name, rate: { limit, windowSeconds } }: Counted): RateLimiterAbstract {
    const id = `${name}:${limit}/${windowSeconds}`;
    let limiter = limiters.get(id);
    if (limiter === undefined) {
      const options = { points: limit, duration: windowSeconds, keyPrefix: '' };
      const insuranceLimiter = goesOnAlone ? { insuranceLimiter: new RateLimiterMemory(options) } : {};
      limiter = new CounterLimiter(shared, { ...options, ...insuranceLimiter });
      limiters.set(id, limiter);
    }
    return limiter;
  }

  // Hashed: what a caller sends never becomes a name in the store, and a name never says who was counted.
  const keyOf = ({ name, subject }: Counted) => hash(`limit:${name}:${subject}`);

  return {
    async add(counted, points) {
      const limiter = limiterOf(counted);
      const result = await limiter.consume(keyOf(counted), points).catch((refusal: unknown) => {
        if (refusal instanceof RateLimiterRes) return refusal;
        throw refusal;
      });
      return { used: result.consumedPoints, resetsInMs: result.msBeforeNext };
    },
    async renew(counted, points) {
      const { count, resetsInMs } = await shared.increment(
        keyOf(counted),
        points,
        counted.rate.windowSeconds * 1000,
        true,
      );
      return { used: count, resetsInMs };
    },
    takeBack(counted) {
      limiterOf(counted)
        .reward(keyOf(counted), 1)
        .catch(() => undefined);
    },
    async read(counted) {
      const found = await limiterOf(counted).get(keyOf(counted));
      return found === null ? undefined : { used: found.consumedPoints, resetsInMs: found.msBeforeNext };
    },
    async clear(counted) {
      await limiterOf(counted).delete(keyOf(counted));
    },
    async mark(counted) {
      await limiterOf(counted).set(keyOf(counted), 1, counted.rate.windowSeconds);
    },
  };
}
