// Redis on several servers, as administrators run it: one master with two replicas under three Sentinels, and a Cluster of three
// masters with a replica each. All are real servers on free ports.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort, launchServer, type RedisServer, startRedis } from './servers.ts';

export type RedisGroup = {
  /** Value of the `store` key. */
  readonly url: string;
  readonly nodes: readonly RedisServer[];
  /** Runs a command on one server over a plain connection. */
  ask<T>(node: RedisServer, question: (redis: Redis) => Promise<T>): Promise<T>;
  /** Restarts a killed server as a replica: Sentinels alone make it one only after ten seconds. */
  restart(node: RedisServer): Promise<void>;
  stop(): Promise<void>;
};

export type SentinelGroup = RedisGroup & {
  /** The current master, according to the Sentinels. */
  master(): Promise<RedisServer>;
  /** The servers that are replicas now. */
  replicas(): Promise<readonly RedisServer[]>;
  readonly sentinels: readonly { readonly port: number; stop(): Promise<void> }[];
};

/** Files for TLS between the servers and to the service; the servers also have a plain port for the test's own commands. */
export type Certificate = { readonly cert: string; readonly key: string };

/** `listensOn` is the port that other servers use: the TLS port if there is one. */
type Node = RedisServer & { readonly listensOn: number };

const NAME = 'main';

function tlsSettings({ cert, key }: Certificate, port: number): readonly (readonly [string, string])[] {
  return [
    ['tls-port', String(port)],
    ['tls-cert-file', cert],
    ['tls-key-file', key],
    ['tls-ca-cert-file', cert],
    ['tls-auth-clients', 'no'],
    ['tls-replication', 'yes'],
  ];
}

async function startMember(settings: readonly string[], certificate?: Certificate): Promise<Node> {
  if (certificate === undefined) {
    const server = await startRedis({ settings });
    return { ...server, listensOn: server.port };
  }
  const listensOn = await freePort();
  const tls = tlsSettings(certificate, listensOn).flatMap(([name, value]) => [`--${name}`, value]);
  return { ...(await startRedis({ settings: [...tls, ...settings] })), listensOn };
}

/** Runs a command on one server over a plain connection. */
export async function askRedis<T>(
  { port }: { readonly port: number },
  question: (redis: Redis) => Promise<T>,
): Promise<T> {
  const redis = new Redis({ port, host: '127.0.0.1', lazyConnect: true, retryStrategy: null });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    return await question(redis);
  } finally {
    redis.disconnect();
  }
}

/** Waits until `isTrue`; an error counts as not yet true. The deadline also ends a call that hangs, even on a busy machine. */
export async function untilTrue(
  what: string,
  isTrue: () => Promise<boolean>,
  timeoutMs = 60_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (performance.now() < deadline) {
    if (await isTrue().catch(() => false)) return;
    await sleep(20);
  }
  throw new Error(`not within ${timeoutMs} ms: ${what}`);
}

/** Waits until the store has noticed a missing replica, and no longer sends anything that would use something up. */
export async function untilMissed(use: () => Promise<unknown>): Promise<void> {
  await untilTrue('a replica is missed', () =>
    use().then(
      () => false,
      (error: unknown) => error instanceof Error && error.message.endsWith('one of its replicas is missing'),
    ),
  );
}

const hasReplicas = (count: number) => async (redis: Redis) =>
  (await redis.info('replication')).split('state=online').length - 1 === count;

/** Starts the group; the master and both replicas get `settings`. */
export async function startSentinel(
  settings: readonly string[] = [],
  certificate?: Certificate,
): Promise<SentinelGroup> {
  const common = ['--repl-diskless-sync-delay', '0', ...settings];
  const first = await startMember(common, certificate);
  const replicaOf = ['--replicaof', `127.0.0.1 ${first.listensOn}`];
  const others = await Promise.all([1, 2].map(() => startMember([...common, ...replicaOf], certificate)));
  const nodes = [first, ...others];
  await untilTrue('both replicas are in sync', () => askRedis(first, hasReplicas(2)));
  const folder = await mkdtemp(path.join(tmpdir(), 'postern-sentinel-'));
  const sentinels = await Promise.all(
    [1, 2, 3].map((index) =>
      startOneSentinel(path.join(folder, `sentinel-${index}.conf`), first, certificate),
    ),
  );
  for (const sentinel of sentinels) {
    await untilTrue('a Sentinel knows the others', async () => {
      const text = JSON.stringify(
        await askRedis(sentinel, (redis) => redis.call('SENTINEL', 'MASTER', NAME)),
      );
      return text.includes('"num-slaves","2"') && text.includes('"num-other-sentinels","2"');
    });
  }

  async function master(): Promise<Node> {
    for (const sentinel of sentinels) {
      const address = await askRedis(sentinel, (redis) =>
        redis.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME),
      ).catch(() => undefined);
      const found = nodes.find(
        ({ listensOn }) => String(listensOn) === (address as readonly string[] | undefined)?.[1],
      );
      if (found !== undefined) return found;
    }
    throw new Error('no Sentinel names a master');
  }

  return {
    url: `${schemeOf(certificate)}+sentinel://${addressesOf(sentinels)}/${NAME}`,
    nodes,
    sentinels,
    ask: askRedis,
    master,
    async replicas() {
      const current = await master();
      return nodes.filter((node) => node !== current);
    },
    restart: async (node) => node.restart(['--replicaof', `127.0.0.1 ${(await master()).listensOn}`]),
    async stop() {
      await Promise.all(sentinels.map(({ stop }) => stop()));
      await Promise.all(nodes.map((node) => node.stop()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const schemeOf = (certificate?: Certificate) => (certificate === undefined ? 'redis' : 'rediss');
const addressesOf = (nodes: readonly { readonly listensOn: number }[]) =>
  nodes.map(({ listensOn }) => `127.0.0.1:${listensOn}`).join(',');

async function startOneSentinel(file: string, master: Node, certificate?: Certificate) {
  const port = await freePort();
  const listensOn = certificate === undefined ? port : await freePort();
  const tls = certificate === undefined ? [] : tlsSettings(certificate, listensOn);
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${path.dirname(file)}`,
    ...tls.map(([name, value]) => `${name} ${value}`),
    `sentinel monitor ${NAME} 127.0.0.1 ${master.listensOn} 2`,
    `sentinel down-after-milliseconds ${NAME} 1000`,
    `sentinel failover-timeout ${NAME} 3000`,
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  const launched = launchServer([file, '--sentinel'], port);
  await launched.start();
  return { port, listensOn, stop: () => launched.end('SIGKILL') };
}

const MASTERS = 3;
const SLOTS = 16_384;

/**
 * Starts three masters with a replica each; the replica of `nodes[i]` is `nodes[i + 3]`. A master is replaced after 15 s, Redis's default,
 * unless `settings` say otherwise: a busy machine may stop one for seconds.
 */
export async function startCluster(
  settings: readonly string[] = [],
  certificate?: Certificate,
): Promise<RedisGroup> {
  const nodes = await Promise.all(
    Array.from({ length: 2 * MASTERS }, () => startClusterNode(settings, certificate)),
  );
  const [first] = nodes;
  if (first === undefined) throw new Error('no node');
  await Promise.all(nodes.map((node, index) => takeSlots(node, index)));
  for (const { listensOn, busPort } of nodes.slice(1)) {
    await askRedis(first, (redis) => redis.cluster('MEET', '127.0.0.1', listensOn, busPort));
  }
  await allKnowAll(nodes);
  await Promise.all(
    nodes.slice(MASTERS).map(async (node, index) => {
      const master = nodes[index] ?? first;
      const id = await askRedis(master, (redis) => redis.call('CLUSTER', 'MYID') as Promise<string>);
      await askRedis(node, (redis) => redis.cluster('REPLICATE', id));
    }),
  );
  for (const node of nodes) {
    await untilTrue('the cluster is whole', () =>
      askRedis(node, async (redis) => (await redis.cluster('INFO')).includes('cluster_state:ok')),
    );
  }
  for (const node of nodes.slice(0, MASTERS)) {
    await untilTrue('a replica is in sync', () => askRedis(node, hasReplicas(1)));
  }
  return {
    // A client needs only some of the addresses.
    url: `${schemeOf(certificate)}+cluster://${addressesOf(nodes.slice(0, 2))}`,
    nodes,
    ask: askRedis,
    restart: (node) => node.restart(),
    async stop() {
      await Promise.all(nodes.map((node) => node.stop()));
    },
  };
}

async function startClusterNode(settings: readonly string[], certificate?: Certificate) {
  const busPort = await freePort();
  const cluster = ['--cluster-enabled', 'yes', '--cluster-port', String(busPort)];
  const quick = ['--repl-diskless-sync-delay', '0'];
  const tls = certificate === undefined ? [] : ['--tls-cluster', 'yes'];
  return { ...(await startMember([...cluster, ...quick, ...tls, ...settings], certificate)), busPort };
}

async function takeSlots(node: RedisServer, index: number): Promise<void> {
  const [from, to] = [index, index + 1].map((part) => Math.floor((part * SLOTS) / MASTERS));
  await askRedis(node, async (redis) => {
    await redis.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
    if (index < MASTERS) await redis.call('CLUSTER', 'ADDSLOTSRANGE', from ?? 0, (to ?? 0) - 1);
  });
}

async function allKnowAll(nodes: readonly RedisServer[]): Promise<void> {
  for (const node of nodes) {
    await untilTrue('a node knows the others', () =>
      askRedis(node, async (redis) => {
        const known = (await redis.call('CLUSTER', 'NODES')) as string;
        return known.trim().split('\n').length === nodes.length && !known.includes('handshake');
      }),
    );
  }
}
