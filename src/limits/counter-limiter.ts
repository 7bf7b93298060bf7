// rate-limiter-flexible on the counters of our store port, so that all processes share one count on either store.
// Owns only the three methods that the library leaves to a store.
import { RateLimiterRes, type IRateLimiterStoreOptions } from 'rate-limiter-flexible';
import RateLimiterStoreAbstract from 'rate-limiter-flexible/lib/RateLimiterStoreAbstract.js';
import type { Count, CounterStore } from '../store/store.ts';

export class CounterLimiter extends RateLimiterStoreAbstract {
  readonly #counters: CounterStore;

  constructor(counters: CounterStore, options: Omit<IRateLimiterStoreOptions, 'storeClient'>) {
    super({ ...options, storeClient: counters });
    this.#counters = counters;
  }

  async _upsert(key: string, points: number, windowMs: number, newWindow: boolean): Promise<Count> {
    if (!newWindow) return this.#counters.increment(key, points, windowMs);
    await this.#counters.set(key, points, windowMs);
    return { count: points, resetsInMs: windowMs };
  }

  async _get(key: string): Promise<Count | null> {
    // The library knows an absent key as null.
    return (await this.#counters.read(key)) ?? null;
  }

  async _delete(key: string): Promise<boolean> {
    await this.#counters.remove(key);
    return true;
  }

  _getRateLimiterRes(_key: string, changedPoints: number, { count, resetsInMs }: Count): RateLimiterRes {
    const isFirst = count === changedPoints;
    return new RateLimiterRes(Math.max(this.points - count, 0), resetsInMs, count, isFirst);
  }
}
