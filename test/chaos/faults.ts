// Faults of a Redis, by name: each one begins, lasts a while and ends. There are faults of one server behind a proxy, of Sentinels, of
// a Cluster, and of the nodes of the service.
import { setTimeout as sleep } from 'node:timers/promises';
import { type FaultProxy, startProxy } from '../world/proxy.ts';
import { askRedis, type RedisGroup, startCluster, startSentinel, untilTrue } from '../world/redis-groups.ts';
import { type RedisServer, startRedis } from '../world/servers.ts';
import type { Fleet } from './fleet.ts';

export type Faults = Readonly<Record<string, () => Promise<void>>>;

/** A Redis of some kind, and its faults. */
export type Place = {
  /** Value of the `store` key. */
  readonly url: string;
  readonly faults: Faults;
  /** Names of the faults that may make another server the master. */
  readonly replacing: readonly string[];
  /** Resolves when one more fault can't lose anything that was confirmed. */
  untilWhole(): Promise<void>;
  stop(): Promise<void>;
};

/** A killed server comes back with its data. */
const DURABLE = ['--appendonly', 'yes'];

export function pick<T>(from: readonly T[]): T {
  return from[Math.floor(Math.random() * from.length)] as T;
}

const aWhile = (fromMs: number, toMs: number) => sleep(fromMs + Math.random() * (toMs - fromMs));

/** Changes a setting to a wrong value for a while. */
async function setFor(
  node: RedisServer,
  [name, wrong, right]: readonly [string, string, string],
): Promise<void> {
  await askRedis(node, (redis) => redis.config('SET', name, wrong));
  await aWhile(300, 2500);
  await askRedis(node, (redis) => redis.config('SET', name, right));
}

const FULL = ['maxmemory', '1', '0'] as const;
const READ_ONLY = ['min-replicas-to-write', '9', '0'] as const;

async function freeze(node: RedisServer, longestMs: number): Promise<void> {
  node.pause();
  await aWhile(200, longestMs);
  node.resume();
}

/** One server behind a network proxy. It has no replica, so each answer must be on its disk. */
export async function startSingle(): Promise<Place> {
  const server = await startRedis({ settings: [...DURABLE, '--appendfsync', 'always'] });
  const proxy = await startProxy(server.port);
  return {
    url: proxy.url,
    replacing: [],
    untilWhole: () =>
      untilTrue('it answers', async () => (await askRedis(server, (redis) => redis.ping())) === 'PONG'),
    faults: {
      frozen: () => freeze(server, 3000),
      async killed() {
        await server.kill();
        await aWhile(100, 2000);
        await server.restart();
      },
      full: () => setFor(server, FULL),
      'read-only': () => setFor(server, READ_ONLY),
      ...networkFaults(proxy),
    },
    async stop() {
      server.resume();
      await proxy.close();
      await server.stop();
    },
  };
}

function networkFaults(proxy: FaultProxy): Faults {
  const during = (begin: () => void) => async () => {
    begin();
    await aWhile(300, 3000);
    proxy.heal();
  };
  return {
    slow: during(() => proxy.delay(100 + Math.random() * 600)),
    'losing packets': during(() => proxy.lose(0.05, 250)),
    'cut off': during(() => proxy.isolate()),
    'cut in the middle': during(() => proxy.cutAfter(Math.floor(Math.random() * 200))),
    'losing answers': during(() => proxy.swallowAnswers(Math.floor(Math.random() * 200))),
  };
}

/** One master and two replicas under three Sentinels. */
export async function startWatched(): Promise<Place> {
  const group = await startSentinel(DURABLE);
  const promote = () =>
    askRedis(pick(group.sentinels), (redis) => redis.call('SENTINEL', 'FAILOVER', 'main'));
  return toPlace(group, 1, promote);
}

/** Three masters with a replica each. */
export async function startSharded(): Promise<Place> {
  const group = await startCluster([...DURABLE, '--cluster-node-timeout', '1000']);
  const promote = async () => {
    const known = await mastersOf(group);
    const replica = pick(group.nodes.filter((node) => !known.includes(node)));
    // With the old master's consent, without it (FORCE), or without that of any server (TAKEOVER).
    const how = pick([[], ['FORCE'], ['TAKEOVER']]);
    return askRedis(replica, (redis) => redis.call('CLUSTER', 'FAILOVER', ...how));
  };
  return toPlace(group, 3, promote);
}

function toPlace(group: RedisGroup, masters: number, promote: () => Promise<unknown>): Place {
  const aMaster = async () => pick(await mastersOf(group));
  const client = (...args: readonly string[]) =>
    aMaster().then((node) => askRedis(node, (redis) => redis.call('CLIENT', ...args)));
  return {
    url: group.url,
    replacing: ['a master killed', 'a master frozen', 'promotion'],
    untilWhole: () => untilWhole(group, masters),
    faults: {
      async 'a master killed'() {
        const master = await aMaster();
        await master.kill();
        const isReplaced = async () => (await mastersOf(group)).length >= masters;
        await untilTrue('another master', isReplaced, 30_000).catch(() => undefined);
        await sleep(500);
        await master.restart();
      },
      'a master frozen': async () => freeze(await aMaster(), 4500),
      async 'a replica frozen'() {
        const known = await mastersOf(group);
        await freeze(pick(group.nodes.filter((node) => !known.includes(node))), 2500);
      },
      async promotion() {
        // Refused while another failover is in progress.
        await promote().catch(() => undefined);
        await sleep(2000);
      },
      full: async () => setFor(await aMaster(), FULL),
      'read-only': async () => setFor(await aMaster(), READ_ONLY),
      // It doesn't answer, but doesn't count as failed.
      'a master slow': async () => {
        for (let round = 0; round < 5; round += 1) {
          await client('PAUSE', String(Math.ceil(Math.random() * 400)), 'ALL');
          await sleep(500);
        }
      },
      'all cut': async () => {
        for (let round = 0; round < 5; round += 1) {
          await client('KILL', 'TYPE', 'normal');
          await sleep(Math.random() * 500);
        }
      },
    },
    async stop() {
      group.nodes.forEach((node) => node.resume());
      await group.stop();
    },
  };
}

/** Faults of the service's nodes, independent of their store. */
export function nodeFaults(fleet: Fleet): Faults {
  return {
    'a node killed': () => fleet.restart(pick(fleet.nodes), 'SIGKILL'),
    'a node restarted': () => fleet.restart(pick(fleet.nodes), 'SIGTERM'),
  };
}

/** Masters that have a replica; one that has none is being replaced. */
async function mastersOf(group: RedisGroup): Promise<readonly RedisServer[]> {
  const found = await Promise.all(
    group.nodes.map(async (node) => {
      const info = await askRedis(node, (redis) => redis.info('replication')).catch(() => '');
      return info.includes('role:master') && !info.includes('connected_slaves:0') ? [node] : [];
    }),
  );
  return found.flat();
}

/** Each node reads INFO once a second, and waits for the replica from then on. */
const SEEN_BY_ALL_MS = 1500;

/**
 * Waits until each replica has a master and each node knows the replica: one that has just returned, or moved to another master, may be
 * promoted before any node waits for it.
 */
async function untilWhole(group: RedisGroup, masters: number): Promise<void> {
  await untilTrue(
    'all is whole',
    async () => {
      const infos = await Promise.all(
        (await mastersOf(group)).map((node) => askRedis(node, (redis) => redis.info('replication'))),
      );
      const online = infos.join('').split('state=online').length - 1;
      return infos.length === masters && online === group.nodes.length - masters;
    },
    60_000,
  );
  await sleep(SEEN_BY_ALL_MS);
}
