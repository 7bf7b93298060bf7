// The Redis store on a real redis-server: the contract, the layout of its keys, and what an outage may do.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { openRedis } from '../../src/store/redis/redis-store.ts';
import { type Store, StoreUnavailable } from '../../src/store/store.ts';
import { type RedisServer, startRedis } from '../world/servers.ts';
import { startProxy } from '../world/proxy.ts';
import { MACHINE_MS } from '../world/clock.ts';
import { rounds } from '../world/rounds.ts';
import { createClock, testStore, uniqueName } from './conformance.ts';
import { useStarted } from '../world/started.ts';

const ROTATIONS = rounds(10_000, 1000);
const record = { kind: 'AccessToken', key: 'k', payload: 'p', ttlSeconds: 60 };

describe('the redis store', () => {
  const server = useStarted(() => startRedis());
  const raw = useStarted(async () => new Redis(server().url));

  testStore((now) => openRedis({ url: server().url, now }));

  it('leaves no key without an end but documents and indexes, after all of the above (RD-12)', async () => {
    const keys = await raw().keys('*');
    expect(keys.length).toBeGreaterThan(100);
    const endless: string[] = [];
    for (const key of keys) if ((await raw().pttl(key)) === -1) endless.push(key);
    expect(endless.filter((key) => !/^postern:(documents|index):/.test(key))).toEqual([]);
    expect(keys.filter((key) => !key.startsWith('postern:'))).toEqual([]);
  });
});

describe('the keys of the redis store', () => {
  const clock = createClock();
  const server = useStarted(() => startRedis());
  const raw = useStarted(async () => new Redis(server().url));
  const store = useStarted(() => openRedis({ url: server().url, now: clock.now }));
  beforeEach(() => raw().flushall());

  it(`keep the index of a grant as small as what is alive, over ${ROTATIONS} rotations (RD-08)`, async () => {
    for (let round = 0; round < ROTATIONS / 100; round++) {
      const keys = Array.from({ length: 100 }, (_, index) => `${round}-${index}`);
      await Promise.all(
        keys.map((key) => store().records.save({ ...record, key, ttlSeconds: 10, grant: 'g' })),
      );
      expect(await raw().zcard('postern:{grant:g}:index')).toBe(100);
      clock.forward(10_000);
    }
    await store().records.save({ ...record, ttlSeconds: 100, grant: 'g' });
    expect(await raw().zcard('postern:{grant:g}:index')).toBe(1);
    const life = await raw().pttl('postern:{grant:g}:index');
    expect(life).toBeGreaterThan(95_000);
    expect(life).toBeLessThanOrEqual(100_000);
  });

  it('are all gone after a revocation, but for the tombstone', async () => {
    const keys = Array.from({ length: 250 }, (_, index) => `k${index}`);
    await Promise.all(keys.map((key) => store().records.save({ ...record, key, grant: 'g', alias: key })));
    await store().records.revokeGrant('g', 3600);
    expect(await raw().keys('*')).toEqual(['postern:{grant:g}:dead']);
    expect(await raw().pttl('postern:{grant:g}:dead')).toBeGreaterThan(3_500_000);
  });

  it('hide a record that reached Redis after its grant was revoked', async () => {
    await store().records.save({ ...record, grant: 'g' });
    const row = await raw().hgetall('postern:record:AccessToken:k');
    await store().records.revokeGrant('g', 3600);
    // A save that had passed the index before the tombstone was written.
    await raw().hset('postern:record:AccessToken:k', row);
    expect(await store().records.find('AccessToken', 'k')).toBeUndefined();
    expect(await store().records.consume('AccessToken', 'k')).toBe('gone');
  });

  it.each([
    ['record', 'postern:record:AccessToken:k'],
    ['index', 'postern:{grant:g}:index'],
    ['tombstone', 'postern:{grant:g}:dead'],
  ])('reject a save when the %s has the wrong type, instead of swallowing it (RD-05)', async (_, key) => {
    await raw().rpush(key, 'not ours');
    await expect(store().records.save({ ...record, grant: 'g' })).rejects.toThrow(StoreUnavailable);
  });

  it('reject everything else of the wrong type too (RD-05)', async () => {
    await raw().rpush('postern:record:AccessToken:k', 'x');
    await raw().rpush('postern:alias:Session:u', 'x');
    await raw().rpush('postern:documents:c', 'x');
    await raw().rpush('postern:index:i', 'x');
    await raw().rpush('postern:counter:n', 'x');
    const calls = [
      () => store().records.find('AccessToken', 'k'),
      () => store().records.consume('AccessToken', 'k'),
      () => store().records.destroy('AccessToken', 'k'),
      () => store().records.findByAlias('Session', 'u'),
      () => store().documents.get('c', 'a'),
      () => store().documents.getAll('c', ['a']),
      () => store().documents.list('c'),
      () => store().documents.page('c'),
      () => store().documents.put('c', 'a', 'v', 0),
      () => store().documents.remove('c', 'a', 1),
      () => store().index.put('i', 'a', '1'),
      () => store().index.page('i', { limit: 1 }),
      () => store().counters.increment('n', 1, 1000),
      () => store().counters.read('n'),
    ];
    for (const call of calls) await expect(call()).rejects.toThrow(StoreUnavailable);
    await expect(calls[0]?.()).rejects.toThrow("the store's key postern:record:AccessToken:k: delete it");
    await raw().rpush('postern:{grant:w}:dead', 'x');
    await expect(store().records.revokeGrant('w', 60)).rejects.toThrow(
      ' or postern:{grant:w}:dead: delete it',
    );
  });

  it('hold no value that stops anything', async () => {
    await raw().hset('postern:record:Session:k', { p: 'p', e: 'soon', c: 'x', g: '', a: '' });
    await raw().set('postern:{grant:dead}:dead', 'x');
    await raw().hset('postern:documents:d', { one: '{}', two: 'x y' });
    await raw().hset('postern:counter:m', { n: 'x', e: 'y' });
    const { records, documents, counters } = store();
    expect(await records.find('Session', 'k')).toBeUndefined();
    expect(await records.consume('Session', 'k')).toBe('gone');
    expect(await records.save({ ...record, kind: 'Session', key: 'k' })).toBe('saved');
    expect(await records.save({ ...record, grant: 'dead' })).toBe('grant_revoked');
    await records.revokeGrant('dead', 60);
    expect(await documents.list('d')).toEqual([
      { id: 'one', value: '}', version: 0 },
      { id: 'two', value: ' y', version: 0 },
    ]);
    expect(await documents.put('d', 'one', 'new', 0)).toBe(true);
    expect(await documents.remove('d', 'two', 0)).toBe(true);
    expect(await counters.read('m')).toBeUndefined();
    expect((await counters.increment('m', 1, 1000)).count).toBe(1);
  });

  it('use one round trip for a save, one for a plain find, and two for a find with a grant', async () => {
    const counted = await startProxy(server().port);
    const near = await openRedis({ url: counted.url, now: clock.now });
    await near.records.save({ ...record, grant: 'g', key: 'warm', alias: 'warm' });
    await near.records.find('AccessToken', 'warm');
    async function tripsOf(action: () => Promise<unknown>): Promise<number> {
      const before = counted.requests();
      await action();
      return counted.requests() - before;
    }
    expect(await tripsOf(() => near.records.save(record))).toBe(1);
    expect(await tripsOf(() => near.records.find('AccessToken', 'k'))).toBe(1);
    expect(await tripsOf(() => near.records.consume('AccessToken', 'k'))).toBe(2);
    expect(await tripsOf(() => near.records.find('AccessToken', 'warm'))).toBe(2);
    expect(
      await tripsOf(() => near.records.save({ ...record, key: 'near', grant: 'g', alias: 'near' })),
    ).toBe(1);
    const warm = await near.records.find('AccessToken', 'warm');
    await near.records.save({ ...record, kind: 'Grant', key: 'g', grant: 'g' });
    expect(await tripsOf(() => near.records.find('Grant', 'g'))).toBe(1);
    expect(await tripsOf(() => near.records.consume('AccessToken', 'warm', warm))).toBe(1);
    await near.close();
    await counted.close();
  });
});

describe('the redis store in an outage', () => {
  let server: RedisServer;
  let store: Store;
  beforeEach(async () => {
    server = await startRedis();
    store = await openRedis({ url: server.url, now: Date.now });
    return async () => {
      await store.close();
      await server.stop();
    };
  });

  // Only INFO is answered before the connection is ready: a ping that uses INFO would succeed too early.
  it('is not called ready by a ping before it answers everything else', async () => {
    for (let round = 0; round < 5; round++) {
      await server.kill();
      server = await startRedis({ port: server.port });
      let isReady = false;
      const deadline = performance.now() + 2000 + MACHINE_MS;
      while (!isReady && performance.now() < deadline) {
        isReady = await store.ping().then(
          () => true,
          () => false,
        );
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(isReady).toBe(true);
      await expect(store.records.save(record)).resolves.toBe('saved');
    }
  });

  it('sends nothing twice when the connection is cut again and again', async () => {
    const proxy = await startProxy(server.port);
    const far = await openRedis({ url: proxy.url, now: Date.now });
    let certain = 0;
    let uncertain = 0;
    for (let index = 0; index < 60; index++) {
      const call = far.counters.increment('n', 1, 60_000);
      if (index % 6 === 0) setImmediate(() => proxy.cut());
      await call.then(
        () => certain++,
        () => uncertain++,
      );
      await vi.waitFor(() => far.ping(), { timeout: 2000 + MACHINE_MS, interval: 5 });
    }
    const counted = (await store.counters.read('n'))?.count ?? 0;
    expect(certain).toBeGreaterThan(0);
    expect(uncertain).toBeGreaterThan(0);
    expect(counted).toBeGreaterThanOrEqual(certain);
    expect(counted).toBeLessThanOrEqual(certain + uncertain);
    await far.close();
    await proxy.close();
  });

  it('keeps values and passwords out of the cause', async () => {
    const raw = new Redis(server.url);
    await raw.rpush('postern:record:AccessToken:k', 'x');
    const error: unknown = await store.records
      .save({ ...record, payload: 'the payload' })
      .catch((cause: unknown) => cause);
    const { cause } = error as { cause: Error };
    expect(cause.message).toContain('WRONGTYPE');
    expect(Object.keys(cause)).toEqual(['name']);
    expect(cause.message).not.toContain('the payload');
    await raw.quit();
  });
});

describe('opening the redis store', () => {
  it('rejects without the password when it is wrong, and when it is missing (RD-26)', async () => {
    const server = await startRedis({ password: 'right&proper' });
    const wrong = server.url.replace('right', 'wr0ng');
    for (const url of [wrong, `redis://127.0.0.1:${server.port}`]) {
      const error: unknown = await openRedis({ url, now: Date.now }).catch((cause: unknown) => cause);
      expect((error as Error).message).toMatch(/^the store at redis:\/\/127\.0\.0\.1:\d+ can't be used: /);
      expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('wr0ng');
    }
    const store = await openRedis({ url: server.url, now: Date.now });
    await store.ping();
    await store.close();
    await server.stop();
  });

  it('gives up in a second or so when the server accepts and says nothing', async () => {
    const server = await startRedis();
    server.pause();
    const began = performance.now();
    await expect(openRedis({ url: server.url, now: Date.now })).rejects.toThrow(/can't be used/);
    expect(performance.now() - began).toBeLessThan(1500 + MACHINE_MS);
    await server.stop();
  });

  it('needs no more rights than docs/redis.md gives to a user', async () => {
    const server = await startRedis();
    const raw = new Redis(server.url);
    const [, rights = ''] =
      /ACL SETUSER postern on >PASSWORD (.+)/.exec(readFileSync('docs/redis.md', 'utf8')) ?? [];
    await raw.call('ACL', 'SETUSER', 'postern', 'on', '>p@ss/word', ...rights.split(' '));
    const url = `redis://postern:${encodeURIComponent('p@ss/word')}@127.0.0.1:${server.port}`;
    const store = await openRedis({ url, now: Date.now });
    await store.ping();
    await store.records.save({ ...record, grant: 'g', alias: 'a' });
    expect(await store.records.consume(record.kind, record.key)).toBe('consumed');
    await store.records.revokeGrant('g', 60);
    await store.records.destroy(record.kind, record.key);
    await store.documents.put('c', 'a', 'v', 0);
    expect(await store.documents.list('c')).toHaveLength(1);
    await store.counters.increment('n', 1, 1000);
    await store.close();
    // The same with confirmation: no replica confirms, but the command is allowed.
    const confirmed = await openRedis({ url: `${url}?wait=1`, now: Date.now });
    const error: unknown = await confirmed.records.revokeGrant('h', 60).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ message: 'the store rejects writes: one of its replicas is missing' });
    await confirmed.close();
    await raw.quit();
    await server.stop();
  });

  it('prints nothing and leaves no error unhandled, with all that goes wrong above', async () => {
    const print = vi.spyOn(console, 'error');
    const server = await startRedis();
    const store = await openRedis({ url: server.url, now: Date.now });
    await server.kill();
    await expect(store.ping()).rejects.toThrow(StoreUnavailable);
    await sleep(300);
    await store.close();
    await expect(store.records.find('AccessToken', uniqueName())).rejects.toThrow(StoreUnavailable);
    expect(print).not.toHaveBeenCalled();
    print.mockRestore();
    await server.stop();
  });
});
