// Counters in Redis: fixed windows that every node shares, one key each.
import type { RedisConnection } from './connection.ts';
import { counterKey } from './keys.ts';
import type { Clock, CounterStore } from '../store.ts';

export function createRedisCounters(connection: RedisConnection, now: Clock): CounterStore {
  return {
    async increment(key, by, windowMs, renew = false) {
      const at = now();
      const reply = await connection.run(
        'incrementCounter',
        [counterKey(key)],
        [at, by, at + windowMs, windowMs, renew && by > 0 ? 1 : 0],
      );
      const [count, resetsInMs] = reply as [number, number];
      return { count, resetsInMs };
    },

    async read(key) {
      const [count, ends] = await connection.ask(counterKey(key), (redis) =>
        redis.hmget(counterKey(key), 'n', 'e'),
      );
      const resetsInMs = Number(ends ?? 0) - now();
      return resetsInMs > 0 ? { count: Number(count) || 0, resetsInMs } : undefined;
    },

    async remove(key) {
      await connection.ask(counterKey(key), (redis) => redis.unlink(counterKey(key)));
    },
  };
}
