// Failovers during writes, under real Sentinels, started by an administrator or by a master that stalls for a while:
// no acknowledged write is lost. The old master accepts writes for about another second, and its other replica
// confirms them.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openRedis } from '../../src/store/redis/redis-store.ts';
import { type Store, StoreUnavailable } from '../../src/store/store.ts';
import { askRedis, type SentinelGroup, startSentinel, untilTrue } from '../world/redis-groups.ts';
import { rounds } from '../world/rounds.ts';
import type { RedisServer } from '../world/servers.ts';
import { uniqueName } from './conformance.ts';

const LIFE = 3600;
const ROUNDS = rounds(3, 1);
/** Number of writes on each side of a failover. */
const SOME = 50;

let group: SentinelGroup;
let store: Store;
beforeEach(async () => {
  group = await startSentinel();
  store = await openRedis({ url: group.url, now: Date.now });
});
afterEach(async () => {
  group.nodes.forEach((node) => node.resume());
  await store.close();
  await group.stop();
});

type IsKept = () => Promise<boolean>;

/** Each one does something that must not be lost, and returns how to check whether it was. */
const DEEDS: Readonly<Record<string, () => Promise<IsKept>>> = {
  async revocation() {
    const grant = uniqueName();
    await store.records.revokeGrant(grant, LIFE);
    const record = { kind: 'AccessToken', key: grant, payload: 'p', ttlSeconds: LIFE, grant };
    return async () => (await store.records.save(record)) === 'grant_revoked';
  },
  async denial() {
    const key = uniqueName();
    await store.records.save({ ...RECORD, key, isConfirmed: true });
    return async () => (await store.records.find('RevokedToken', key)) !== undefined;
  },
  async use() {
    const key = uniqueName();
    await store.records.save({ kind: 'AuthorizationCode', key, payload: 'p', ttlSeconds: LIFE });
    if ((await store.records.consume('AuthorizationCode', key)) !== 'consumed') throw new StoreUnavailable();
    return async () => {
      const found = await store.records.find('AuthorizationCode', key);
      return found === undefined || found.consumedAt !== undefined;
    };
  },
};
const WRITERS = Object.entries(DEEDS).flatMap((deed) => [deed, deed, deed]);

type Acknowledged = { readonly name: string; readonly at: number; readonly isKept: IsKept };
type Written = readonly Acknowledged[];

const countSince = (written: Written, time: number) => written.filter(({ at }) => at > time).length;
const untilSome = (written: Written, since: number) =>
  untilTrue('writes are acknowledged', () => Promise.resolve(countSince(written, since) >= SOME));

/** Runs all writers before, during and after `events`. */
async function writeDuring(events: (written: Written) => Promise<unknown>): Promise<Written> {
  const written: Acknowledged[] = [];
  const state = { isOver: false };
  const working = WRITERS.map(async ([name, deed]) => {
    while (!state.isOver) {
      await deed().then(
        (isKept) => written.push({ name, at: performance.now(), isKept }),
        (error: unknown) => {
          if (!(error instanceof StoreUnavailable)) throw error;
        },
      );
      await sleep(5);
    }
  });
  try {
    await untilSome(written, 0);
    await events(written);
    // The old master continues for about a second.
    await sleep(1500);
    await untilSome(written, performance.now());
  } finally {
    state.isOver = true;
    await Promise.all(working);
  }
  return written;
}

/** Waits for one master with two replicas. A Sentinel makes the old master a replica only after ten seconds; the test does it at once. */
async function untilInSync(): Promise<void> {
  const master = await group.master();
  for (const node of await group.replicas()) {
    await askRedis(node, async (redis) => {
      if ((await redis.info('replication')).includes('role:master'))
        await redis.replicaof('127.0.0.1', master.port);
    });
  }
  await untilTrue('both replicas are in sync', () => hasReplicas(master, 2), 40_000);
  // The store must notice them, too: it checks once a second, and until then requires only one replica.
  await sleep(1500);
  await untilTrue('a write is confirmed', async () => {
    await store.records.save({ ...RECORD, key: uniqueName(), isConfirmed: true });
    return true;
  });
}

const RECORD = { kind: 'RevokedToken', payload: 'p', ttlSeconds: LIFE } as const;

async function hasReplicas(master: RedisServer, count: number): Promise<boolean> {
  const info = await askRedis(master, (redis) => redis.info('replication'));
  return info.split('state=online').length - 1 === count;
}

/** Acknowledged writes that are no longer there. */
async function lostOf(written: Written): Promise<readonly string[]> {
  const lost: string[] = [];
  for (let start = 0; start < written.length; start += 200) {
    const batch = written.slice(start, start + 200);
    const found = await Promise.all(batch.map(({ isKept }) => untilAnswered(isKept)));
    batch.forEach(({ name, at }, index) => found[index] === true || lost.push(`${name} at ${at} ms`));
  }
  return lost;
}

/** None of these checks affects another one. */
async function untilAnswered(isKept: IsKept): Promise<boolean> {
  let isTrue = false;
  await untilTrue('an answer', async () => {
    isTrue = await isKept();
    return true;
  });
  return isTrue;
}

async function untilReplaced(old: RedisServer, timeoutMs?: number): Promise<void> {
  await untilTrue('another master', async () => (await group.master()) !== old, timeoutMs);
}

async function promote(): Promise<void> {
  const old = await group.master();
  const [sentinel = { port: 0 }] = group.sentinels;
  // A Sentinel gives up after three seconds, as on a busy machine, and doesn't try again by itself.
  await untilTrue('a failover', async () => {
    await askRedis(sentinel, (redis) => redis.call('SENTINEL', 'FAILOVER', 'main')).catch(() => undefined);
    await untilReplaced(old, 5000);
    return true;
  });
}

/** Freezes the master until one of its replicas is promoted, but not until the other replica knows. */
async function freezeUntilPromoted(): Promise<void> {
  const [old, replicas] = [await group.master(), await group.replicas()];
  old.pause();
  await untilTrue('a replica was promoted', async () => {
    const roles = await Promise.all(
      replicas.map((node) => askRedis(node, (redis) => redis.info('replication'))),
    );
    return roles.some((info) => info.includes('role:master'));
  });
  old.resume();
  await untilReplaced(old);
}

it.each([
  ['RD-18: by SENTINEL FAILOVER', promote],
  ['RD-20: to a master that was frozen and is back before its replicas know', freezeUntilPromoted],
])('nothing acknowledged is lost %s', { timeout: 300_000 }, async (_, failOver) => {
  for (let round = 0; round < ROUNDS; round += 1) {
    await untilInSync();
    const written = await writeDuring(failOver);
    await untilInSync();
    expect(await lostOf(written)).toEqual([]);
  }
});

it('a replica that is gone is waited for until a client would have noticed a failover, and then the others are enough', async () => {
  const [replica] = await group.replicas();
  let killedAt = 0;
  const written = await writeDuring(async (before) => {
    await replica?.kill();
    killedAt = performance.now();
    await untilSome(before, killedAt + 2900);
  });
  // Writes that were confirmed before may be answered a moment later.
  expect(countSince(written, killedAt + 1000) - countSince(written, killedAt + 2900)).toBe(0);
  expect(await lostOf(written)).toEqual([]);
});
