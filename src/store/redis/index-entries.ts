// Ordered indexes in Redis: one sorted set each, in one slot. All members have the score 0, so they are in the order of their bytes.
import { toIndexBounds, toIndexEntry, toIndexKey } from '../ordered-index.ts';
import type { IndexEntry, IndexStore } from '../store.ts';
import type { RedisConnection } from './connection.ts';
import { indexKey } from './keys.ts';

/** A bound of ZRANGE: `[` includes it, `(` excludes it. */
const bound = (mark: '[' | '(', bytes: Buffer) => Buffer.concat([Buffer.from(mark), bytes]);

export function createRedisIndex(connection: RedisConnection): IndexStore {
  async function putAll(index: string, entries: readonly IndexEntry[]): Promise<number> {
    const key = indexKey(index);
    const members = entries.flatMap((entry) => [0, toIndexKey(entry)]);
    if (members.length === 0) return 0;
    return connection.ask(key, (redis) => redis.zadd(key, ...members));
  }

  return {
    put: async (index, sort, id) => (await putAll(index, [{ sort, id }])) === 1,
    putAll,

    async remove(index, sort, id) {
      const key = indexKey(index);
      const member = toIndexKey({ sort, id });
      await connection.ask(key, (redis) => redis.zrem(key, member));
    },

    async page(index, range) {
      const key = indexKey(index);
      const { from, to } = toIndexBounds(range);
      const [first, last] = [bound('[', from), bound('(', to)];
      const found = await connection.ask(key, (redis) =>
        redis.zrangeBuffer(key, first, last, 'BYLEX', 'LIMIT', 0, range.limit),
      );
      return found.map(toIndexEntry);
    },
  };
}
