// The client for a Cluster, which finds the master of a key.
import { Cluster, type ClusterOptions, Command, type Redis } from 'ioredis';
import type { RedisPlace } from '../../../config/redis-url.ts';
import {
  backoff,
  closeClient,
  COMMON,
  connectInTime,
  DISCONNECTED,
  dropSilent,
  isWritable,
  leave,
  type Master,
  type RedisClient,
  toCredentials,
} from '../client.ts';
import { COMMAND_MS, Late } from '../deadline.ts';

const CLUSTER: ClusterOptions = {
  lazyConnect: true,
  scaleReads: 'master',
  enableOfflineQueue: false,
  // Names aren't resolved here, because certificates are issued for names. The socket resolves them.
  dnsLookup: (address, callback) => callback(null, address),
  clusterRetryStrategy: (times) => Math.min(100 * times, 500),
  clusterNodeRetryStrategy: backoff,
  slotsRefreshTimeout: COMMAND_MS,
  slotsRefreshInterval: 1000,
  // Nothing is sent again after a cut: it may have been executed. MOVED, ASK and TRYAGAIN mean that it was not.
  retryDelayOnFailover: 0,
  retryDelayOnClusterDown: 0,
  // Each try asks any node first, which counts as another redirection.
  retryDelayOnTryAgain: 40,
  maxRedirections: 16,
};

export function createClusterClient(place: RedisPlace): RedisClient {
  const cluster = new Cluster(
    place.nodes.map(({ host, port }) => ({ host, port })),
    {
      ...CLUSTER,
      scripts: COMMON.scripts,
      keyPrefix: place.prefix,
      redisOptions: { ...COMMON, ...toCredentials(place), keyPrefix: place.prefix },
    },
  );
  let lastError: Error | undefined;
  // The error itself only says that all nodes failed. The last node's error says why.
  cluster.on('error', (error: Error & { readonly lastNodeError?: Error }) => {
    lastError = error.lastNodeError ?? error;
  });
  cluster.on('node error', (error: Error) => (lastError = error));
  cluster.on('ready', () => (lastError = undefined));
  const drop = (redis: Redis) => {
    lastError = new Late();
    leave(redis);
  };
  cluster.on('+node', (redis: Redis) => dropSilent(redis, () => drop(redis)));

  const nodeAt = (name: string | undefined) => cluster.nodes('master').find((node) => nameOf(node) === name);

  function masterAt(name: string | undefined): Master | undefined {
    if (cluster.status !== 'ready') return undefined;
    const redis = nodeAt(name);
    if (redis !== undefined && isWritable(redis)) return { name: nameOf(redis), redis };
    // Commands would queue until the node is connected: instead, the caller gets an error while it connects.
    if (redis?.status === 'wait') redis.connect().catch(() => undefined);
    cluster.refreshSlotsCache();
    return undefined;
  }

  return {
    // The types differ in nothing that is used here: both are made from the same table of commands.
    commands: cluster as unknown as Redis,
    obstacle: () => lastError ?? DISCONNECTED,
    async connect() {
      await connectInTime(cluster.connect(), () => lastError);
      await connectInTime(Promise.all(cluster.nodes('master').map(whenReady)), () => lastError);
    },
    masterOf: (key) => masterAt(cluster.slots[slotOf(`${place.prefix}${key}`)]?.[0]),
    masterAt,
    masters: () => cluster.nodes('master').map((redis) => ({ name: nameOf(redis), redis })),
    refresh: () => cluster.refreshSlotsCache(),
    drop: ({ redis }) => drop(redis),
    close: () => closeClient(cluster),
  };
}

/** ioredis computes the slot of a command only. */
export const slotOf = (key: string) => new Command('get', [key]).getSlot();

const nameOf = ({ options }: Redis) => `${options.host}:${options.port}`;

async function whenReady(redis: Redis): Promise<void> {
  if (redis.status === 'ready') return;
  if (redis.status === 'wait') return redis.connect();
  await new Promise<void>((resolve) => redis.once('ready', () => resolve()));
}
