// The Redis store behind real Sentinels and on a real Cluster: the whole contract, and that every key has an end.
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openRedis } from '../../src/store/redis.ts';
import { type RedisGroup, startCluster, startSentinel } from '../redis-groups.ts';
import { testStore } from './conformance.ts';

describe.each([
  ['behind Sentinels', startSentinel],
  ['on a Cluster (RD-11)', startCluster],
])('the redis store %s', (_, start) => {
  let group: RedisGroup;
  beforeAll(async () => {
    group = await start();
  });
  afterAll(() => group.stop());

  testStore((now) => openRedis({ url: group.url, now }));

  it('leaves no key without an end but documents, after all of the above (RD-12)', async () => {
    let count = 0;
    const endless: string[] = [];
    for (const node of group.nodes) {
      await group.ask(node, async (redis: Redis) => {
        if (!(await redis.info('replication')).includes('role:master')) return;
        for (const key of await redis.keys('*')) {
          count += 1;
          if ((await redis.pttl(key)) === -1) endless.push(key);
        }
      });
    }
    expect(count).toBeGreaterThan(100);
    expect(endless.filter((key) => !key.startsWith('postern:documents:'))).toEqual([]);
  });
});
