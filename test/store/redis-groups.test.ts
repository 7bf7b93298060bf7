// The Redis store behind real Sentinels and on a real Cluster: the whole contract, and that every key expires.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { slotOf } from '../../src/store/redis/ha/cluster.ts';
import { openRedis } from '../../src/store/redis/redis-store.ts';
import { StoreUnavailable } from '../../src/store/store.ts';
import {
  type RedisGroup,
  startCluster,
  startSentinel,
  untilTrue,
  untilMissed,
} from '../world/redis-groups.ts';
import type { RedisServer } from '../world/servers.ts';
import { testStore, uniqueName } from './conformance.ts';
import { useStarted } from '../world/started.ts';

describe.each([
  ['behind Sentinels', startSentinel, ''],
  ['on a Cluster, with a prefix (RD-11)', startCluster, 'tenant:'],
])('the redis store %s', (_, start, prefix) => {
  const group = useStarted(start);

  testStore((now) => openRedis({ url: `${group().url}?prefix=${prefix}`, now }));

  it('leaves no key without an end but documents and indexes, after all of the above (RD-12)', async () => {
    let count = 0;
    const endless: string[] = [];
    for (const node of group().nodes) {
      await group().ask(node, async (redis: Redis) => {
        if (!(await redis.info('replication')).includes('role:master')) return;
        for (const key of await redis.keys('*')) {
          count += 1;
          if ((await redis.pttl(key)) === -1) endless.push(key);
        }
      });
    }
    expect(count).toBeGreaterThan(100);
    const meant = [`${prefix}postern:documents:`, `${prefix}postern:index:`];
    expect(endless.filter((key) => !meant.some((one) => key.startsWith(one)))).toEqual([]);
  });
});

describe('the redis store on a Cluster', () => {
  const group = useStarted(() => startCluster());
  const store = useStarted(() => openRedis({ url: group().url, now: Date.now }));

  it('RD-11: follows a slot that moves without a lost write or a second winner', async () => {
    const grant = uniqueName();
    const slot = slotOf(`postern:{grant:${grant}}:index`);
    const [from, to] = await sidesOf(group(), slot);
    const over = { isMoved: false };
    const winners: string[] = [];
    const kept: string[] = [];
    async function work(): Promise<void> {
      // A busy machine moves the slot within a few tries.
      while (!over.isMoved || kept.length === 0) {
        const key = uniqueName();
        const record = { kind: 'AuthorizationCode', key, payload: 'p', ttlSeconds: 60, grant };
        // Two keys of one slot on two servers: TRYAGAIN, which on a busy machine may last longer than the store retries.
        const saved = await orLater(store().records.save(record));
        if (saved === 'later') continue;
        expect(saved).toBe('saved');
        const results = await Promise.all(
          [1, 2].map(() => orLater(store().records.consume(record.kind, key))),
        );
        expect(results.filter((result) => result === 'consumed').length).toBeLessThan(2);
        if (results.includes('later')) continue;
        expect(results.toSorted()).toEqual(['already_consumed', 'consumed']);
        winners.push(key);
        if (winners.length % 5 === 0) kept.push(key);
      }
    }
    const working = Promise.all([work(), work(), work()]);
    await moveSlot(group(), slot, [from, to]);
    // Moves the slot back, while requests continue.
    await moveSlot(group(), slot, [to, from]);
    over.isMoved = true;
    await working;
    for (const key of kept)
      expect(await store().records.consume('AuthorizationCode', key)).toBe('already_consumed');
    await store().records.revokeGrant(grant, 60);
    for (const key of kept) expect(await store().records.find('AuthorizationCode', key)).toBeUndefined();
  });

  it('RD-18: uses nothing up on any master while one has no replica, because what comes of it might have to be kept there', async () => {
    async function save(): Promise<string> {
      const key = uniqueName();
      await store().records.save({ kind: 'RefreshToken', key, payload: 'p', ttlSeconds: 60 });
      return key;
    }
    const use = (key: string) => orLater(store().records.consume('RefreshToken', key));
    const keys = await Promise.all(Array.from({ length: 30 }, save));
    const replica = group().nodes.at(-1);
    if (replica === undefined) throw new TypeError('there is no replica');
    await replica.kill();
    await untilMissed(async () => store().records.consume('RefreshToken', await save()));
    expect(new Set(await Promise.all(keys.map(use)))).toEqual(new Set(['later']));
    await group().restart(replica);
    await untilTrue('it is back', async () => (await use(await save())) === 'consumed');
    const found = await Promise.all(keys.map((key) => store().records.find('RefreshToken', key)));
    expect(found.map((record) => record?.key)).toEqual(keys);
    expect(found.filter((record) => record?.consumedAt !== undefined)).toEqual([]);
  });
});

/** Resolves 'later' if it is unknown whether the work was done. */
async function orLater<T>(work: Promise<T>): Promise<T | 'later'> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof StoreUnavailable) return 'later';
    throw error;
  }
}

/** The master that has the slot, and another master. */
async function sidesOf(group: RedisGroup, slot: number): Promise<[RedisServer, RedisServer]> {
  const masters = group.nodes.slice(0, 3);
  const index = Math.min(2, Math.floor((slot * 3) / 16_384));
  const [from, to] = [masters[index], masters[(index + 1) % 3]];
  if (from === undefined || to === undefined) throw new Error('no masters');
  return [from, to];
}

/** Moves a slot like redis-cli --cluster reshard, but slowly. */
async function moveSlot(
  group: RedisGroup,
  slot: number,
  [from, to]: readonly [RedisServer, RedisServer],
): Promise<void> {
  const idOf = (node: RedisServer) =>
    group.ask(node, (redis) => redis.call('CLUSTER', 'MYID') as Promise<string>);
  const [fromId, toId] = [await idOf(from), await idOf(to)];
  await group.ask(to, (redis) => redis.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId));
  await group.ask(from, (redis) => redis.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId));
  await sleep(50);
  await group.ask(from, async (redis) => {
    for (;;) {
      const keys = (await redis.call('CLUSTER', 'GETKEYSINSLOT', slot, 10)) as string[];
      if (keys.length === 0) return;
      for (const key of keys) await redis.call('MIGRATE', '127.0.0.1', to.port, key, 0, 1000);
    }
  });
  await sleep(50);
  for (const node of [to, from]) {
    await group.ask(node, (redis) => redis.call('CLUSTER', 'SETSLOT', slot, 'NODE', toId));
  }
}
