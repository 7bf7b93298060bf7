// The replicas that must confirm a write before it is answered, on a real master with real replicas: each of them, as many as the URL
// requires; nothing is used up while one of them is missing.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openRedis } from '../../src/store/redis/redis-store.ts';
import { type Store, StoreUnavailable } from '../../src/store/store.ts';
import { askRedis, untilTrue, untilMissed } from '../world/redis-groups.ts';
import { type RedisServer, startRedis } from '../world/servers.ts';
import { uniqueName } from './conformance.ts';

const KIND = 'RefreshToken';

let servers: RedisServer[];
let store: Store;
beforeEach(async () => {
  servers = [await startRedis({ settings: ['--repl-diskless-sync-delay', '0'] })];
  return async () => {
    for (const server of servers) server.resume();
    await Promise.all(servers.map((server) => server.stop()));
  };
});
afterEach(() => store.close());

/** Adds a replica that confirms: one that still loads its data is already listed as online. */
async function addReplica(): Promise<RedisServer> {
  const [master = { port: 0 }, ...others] = servers;
  const follows = ['--repl-diskless-sync-delay', '0', '--replicaof', `127.0.0.1 ${master.port}`];
  const replica = await startRedis({ settings: follows });
  servers.push(replica);
  await untilTrue('all replicas confirm', () =>
    askRedis(master, async (redis) => {
      await redis.set('probe', '1', 'PX', 1000);
      return (await redis.wait(others.length + 1, 500)) === others.length + 1;
    }),
  );
  return replica;
}

async function openWaiting(wait: number): Promise<void> {
  store = await openRedis({ url: `redis://127.0.0.1:${servers[0]?.port}?wait=${wait}`, now: Date.now });
}

async function save(): Promise<string> {
  const key = uniqueName();
  await store.records.save({ kind: KIND, key, payload: 'p', ttlSeconds: 600 });
  return key;
}

const use = (key: string) => store.records.consume(KIND, key);

/** Waits until something can be used up again; `key` must not have been. */
async function expectUnused(key: string): Promise<void> {
  await untilTrue('something is used up', async () => (await use(await save())) === 'consumed');
  const found = await store.records.find(KIND, key);
  expect(found).toBeDefined();
  expect(found?.consumedAt).toBeUndefined();
}

it('RD-18: a replica that joined must confirm too', async () => {
  await addReplica();
  await openWaiting(1);
  await untilTrue('one is enough', async () => (await use(await save())) === 'consumed');
  const joined = await addReplica();
  joined.pause();
  const revoke = () => store.records.revokeGrant(uniqueName(), 600);
  await untilTrue('the store has seen it', () =>
    revoke().then(
      () => false,
      () => true,
    ),
  );
  for (let round = 0; round < 3; round += 1) await expect(revoke()).rejects.toBeInstanceOf(StoreUnavailable);
});

it('RD-18: nothing is used up while a replica is frozen and still connected', async () => {
  const replica = await addReplica();
  await addReplica();
  await openWaiting(1);
  const key = await save();
  replica.pause();
  await untilMissed(async () => use(await save()));
  await expect(use(key)).rejects.toBeInstanceOf(StoreUnavailable);
  replica.resume();
  await expectUnused(key);
});

it('RD-18: nothing is used up while there are fewer replicas than the URL asks for', async () => {
  await addReplica();
  await openWaiting(2);
  const key = await save();
  await expect(use(key)).rejects.toBeInstanceOf(StoreUnavailable);
  await addReplica();
  await expectUnused(key);
});
