// The client for a single Redis and for one behind Sentinels, and the settings that it shares with that of a Cluster (ha/cluster.ts):
// both fail fast, reconnect fast, read from masters only and send nothing twice.
import { type Cluster, Redis, type RedisOptions } from 'ioredis';
import type { RedisPlace } from '../../config/redis-url.ts';
import { inTime, Late } from './deadline.ts';
import { listenToSentinels, toSentinelOptions } from './ha/sentinels.ts';
import type { Finding } from './info.ts';
import { SCRIPTS } from './scripts.ts';

/** A master, connected or not. `name` is unique among the servers of this client. */
export type Master = Readonly<{ name: string; redis: Redis }>;

export interface RedisClient {
  /** Why no master is connected: the last error of a connection. */
  readonly obstacle: () => Error;
  /** Sends each command to the master of its key. All kinds of Redis share the methods that we use. */
  readonly commands: Redis;
  /** Rejects with the last error of a connection when no server answers. */
  connect(): Promise<void>;
  /** Returns the master of `key`, undefined while it isn't connected. In a Cluster, a call starts to connect. */
  masterOf(key: string): Master | undefined;
  /** `address`: `HOST:PORT`, as in a Cluster's redirection. */
  masterAt(address: string): Master | undefined;
  masters(): readonly Master[];
  /** Problems of servers other than the masters. */
  findings?: (() => Promise<readonly Finding[]>) | undefined;
  /** Looks for the masters again, because the topology may have changed. */
  refresh(): void;
  /** Closes the connection to a server that doesn't respond. Commands meanwhile are rejected at once. */
  drop(master: Master): void;
  close(): Promise<void>;
}

const CONNECT_MS = 3000;
const FIRST_ANSWER_MS = 1000;

export const backoff = (times: number) => Math.min(50 * times, 500);

export const COMMON = {
  lazyConnect: true,
  connectTimeout: 1000,
  disconnectTimeout: 200,
  // A command in flight when the connection is cut may have been executed: it is answered with 503, never sent again.
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  maxLoadingRetryTime: 500,
  // The master was demoted: reconnect to find the new one.
  reconnectOnError: (error: Error) => codeOf(error) === 'READONLY',
  scripts: Object.fromEntries(Object.entries(SCRIPTS).map(([name, lua]) => [name, { lua }])),
} satisfies RedisOptions;

/** ioredis adds the command that failed. */
type CommandError = Error & { readonly command?: { readonly name: string } };

/** RESP puts the code of an error in its first word. */
export const codeOf = (error: unknown) =>
  error instanceof Error ? (error.message.split(' ', 1)[0] ?? '') : '';

export function toCredentials({
  username,
  password,
  isTls,
}: RedisPlace): Pick<RedisOptions, 'username' | 'password' | 'tls'> {
  return { ...(username && { username }), ...(password && { password }), ...(isTls && { tls: {} }) };
}

/** `onReady`: the one master was connected or reconnected. The masters of a Cluster track such changes themselves. */
export function createSingleClient(place: RedisPlace, onReady?: () => void): RedisClient {
  const [first] = place.nodes;
  const options: Omit<RedisOptions, 'replyMapping'> = {
    ...COMMON,
    ...toCredentials(place),
    ...(place.kind === 'sentinel' ? toSentinelOptions(place) : first),
    db: place.db,
    keyPrefix: place.prefix,
    enableOfflineQueue: false,
    enableAutoPipelining: true,
    retryStrategy: backoff,
    reconnectOnError(error) {
      if (!COMMON.reconnectOnError(error)) return false;
      lastError = error;
      return true;
    },
  };
  let lastError: Error | undefined;
  let lacksDatabase = false;
  const redis = new Redis(options);
  const drop = () => {
    lastError = new Late();
    leave(redis);
  };
  // Each command rejects with its own error. Without a listener, ioredis prints errors.
  redis.on('error', (error: CommandError) => {
    // Later errors only report that the connection was closed.
    if (lacksDatabase) return;
    lastError = error;
    // ioredis would continue in database 0, which may belong to another application.
    lacksDatabase = error.command?.name === 'select';
    if (lacksDatabase) leave(redis);
  });
  redis.on('connect', () => (lacksDatabase = false));
  dropSilent(redis, drop);
  const sentinels = place.kind === 'sentinel' ? listenToSentinels(place, () => leave(redis)) : undefined;
  const master = { name: 'master', redis };
  redis.on('ready', () => {
    lastError = undefined;
    onReady?.();
  });
  const masterOf = () => (isWritable(redis) ? master : undefined);

  return {
    commands: redis,
    obstacle: () => lastError ?? DISCONNECTED,
    connect: () =>
      connectInTime(
        redis.connect(),
        // connect() itself only says that the connection is closed.
        () => lastError,
      ),
    masterOf,
    masterAt: masterOf,
    masters: () => [master],
    findings: sentinels?.findings,
    refresh: () => place.kind === 'sentinel' && leave(redis),
    drop,
    close() {
      sentinels?.stop();
      return closeClient(redis);
    },
  };
}

/** Reconnects; behind Sentinels, to the master that they name then. */
export function leave(redis: Redis): void {
  // If ioredis is disconnected while it asks the Sentinels, it closes the client.
  if (redis.status === 'connecting') redis.once('connect', () => redis.disconnect(true));
  else if (redis.status === 'connect' || isWritable(redis)) redis.disconnect(true);
}

/** After a disconnect ioredis calls a connection ready until the server has closed it too. */
export const isWritable = (redis: Redis) => redis.status === 'ready' && redis.stream.writable;

/** Drops a frozen server, which accepts a connection but never answers. INFO works before the connection is ready. */
export function dropSilent(redis: Redis, drop: () => void): void {
  redis.on('connect', () => {
    inTime(redis.info('server'), FIRST_ANSWER_MS).catch((error: unknown) => error instanceof Late && drop());
  });
}

/** The connection was closed, and no reconnection has failed yet. */
export const DISCONNECTED = new Error('its master is not connected');

export async function connectInTime(connecting: Promise<unknown>, reason: () => unknown): Promise<void> {
  try {
    await inTime(connecting, CONNECT_MS);
  } catch (error) {
    throw reason() ?? error;
  }
}

export async function closeClient(client: Redis | Cluster): Promise<void> {
  try {
    await client.quit();
  } catch {
    // Not connected, so there is nothing to close.
  }
  client.disconnect();
}
