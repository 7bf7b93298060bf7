// A master that was replaced without noticing: it reports itself as the master, and still has records that ended on the new one. Reads
// from it are allowed until it is demoted, but it acknowledges nothing that ends a record or uses it up. Here a host name or a Sentinel
// (a fixture) names the outdated master; Redis is real.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openRedis } from '../../src/store/redis/redis-store.ts';
import { StoreUnavailable, type Store } from '../../src/store/store.ts';
import { askRedis, untilTrue } from '../world/redis-groups.ts';
import { type RedisServer, startRedis } from '../world/servers.ts';
import { uniqueName } from './conformance.ts';
import { FixtureSentinel } from './fixtures/sentinel.ts';

const KIND = 'AccessToken';

let master: RedisServer;
let next: RedisServer;
let other: RedisServer;
let sentinel: FixtureSentinel | undefined;
let stores: Store[] = [];

const isFollowedBy = (node: RedisServer, count: number) => () =>
  askRedis(
    node,
    async (redis) => (await redis.info('replication')).split('state=online').length - 1 === count,
  );

const cut = (node: RedisServer) =>
  askRedis(node, (redis) => redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'));
const countClients = (node: RedisServer) =>
  askRedis(node, async (redis) => {
    const list = String(await redis.call('CLIENT', 'LIST', 'TYPE', 'normal'));
    return list.split('cmd=').length - 2;
  });
async function openAt(url: string): Promise<Store> {
  const store = await openRedis({ url, now: Date.now });
  stores.push(store);
  return store;
}
const urlOf = ({ port }: RedisServer) => `redis://127.0.0.1:${port}?wait=1`;

beforeEach(async () => {
  master = await startRedis({ settings: ['--repl-diskless-sync-delay', '0'] });
  const follows = ['--repl-diskless-sync-delay', '0', '--replicaof', `127.0.0.1 ${master.port}`];
  [next, other] = await Promise.all([startRedis({ settings: follows }), startRedis({ settings: follows })]);
  await untilTrue('both replicas are in sync', isFollowedBy(master, 2));
});
afterEach(async () => {
  master.resume();
  await Promise.all(stores.map((store) => store.close()));
  sentinel?.stop();
  [stores, sentinel] = [[], undefined];
  await Promise.all([master, next, other].map((node) => node.stop()));
});

/** Promotes another master as a failover does, without notifying the old one. */
async function replaceMaster(): Promise<RedisServer> {
  const { port } = next;
  await askRedis(next, (redis) => redis.replicaof('NO', 'ONE'));
  await askRedis(other, (redis) => redis.replicaof('127.0.0.1', port));
  await untilTrue('the new master is followed', isFollowedBy(next, 1));
  return next;
}

/** Saves a live record, and returns how to end it on the other master. */
async function saveAwaited(store: Store) {
  const [grant, key] = [uniqueName(), uniqueName()];
  const record = { kind: KIND, key, payload: 'p', ttlSeconds: 600, grant, isAwaited: true };
  // A replica that has just joined needs a moment before its first confirmation.
  await untilTrue('the replicas have it', async () => (await store.records.save(record)) === 'saved');
  expect(await store.records.find(KIND, key)).toBeDefined();
  return {
    key,
    endOn: async (node: RedisServer) => {
      const { records } = await openAt(urlOf(node));
      await records.revokeGrant(grant, 600);
      expect(await records.find(KIND, key)).toBeUndefined();
    },
  };
}

async function expectNothingConfirmed(store: Store, key: string, forMs: number): Promise<void> {
  const endsAt = performance.now() + forMs;
  while (performance.now() < endsAt) {
    await expect(store.records.revokeGrant(uniqueName(), 600)).rejects.toBeInstanceOf(StoreUnavailable);
    const used = await store.records.consume(KIND, key).catch((error: unknown) => error);
    // The first one may have been sent, and counts as used up.
    if (used !== 'already_consumed') expect(used).toBeInstanceOf(StoreUnavailable);
    await sleep(10);
  }
}

describe('a master that was replaced', () => {
  it.each([
    { traffic: 'somebody asks', hasTraffic: true },
    { traffic: 'nobody asks', hasTraffic: false },
  ])('RD-20, RD-31: while frozen, confirms nothing, where $traffic', async ({ hasTraffic }) => {
    const store = await openAt(urlOf(master));
    const { key, endOn } = await saveAwaited(store);
    master.pause();
    // No Sentinel names another master sooner.
    for (let round = 0; round < 30; round += 1) {
      if (hasTraffic) store.records.find(KIND, key).catch(() => undefined);
      await sleep(50);
    }
    await endOn(await replaceMaster());
    master.resume();
    await expectNothingConfirmed(store, key, 3000);
  });

  it('RD-20, RD-31: confirms nothing to a client that a late Sentinel sends back to it', async () => {
    sentinel = new FixtureSentinel(master.port);
    const store = await openAt(`redis+sentinel://127.0.0.1:${await sentinel.start()}/main`);
    const { key, endOn } = await saveAwaited(store);
    await replaceMaster();
    sentinel.master = next.port;
    await cut(master);
    await untilTrue('it is on the new one', async () => (await countClients(next)) === 2);
    await untilTrue('it goes on there', async () => (await store.records.find(KIND, key)) !== undefined);
    await endOn(next);
    expect(await store.records.find(KIND, key)).toBeUndefined();
    sentinel.master = master.port;
    await cut(next);
    await expectNothingConfirmed(store, key, 3000);
    expect(await countClients(master)).toBe(2);
  });
});
