// The way to Redis: every question has a deadline, every failure becomes StoreUnavailable, and what may not be lost in a
// failover is confirmed by a replica. Owns those three; who the servers are is redis-client.ts, what is asked is not here.
import { once } from 'node:events';
import type { Redis } from 'ioredis';
import { parseRedisUrl, type RedisPlace } from '../../config/redis-url.ts';
import { type Breaker, createBreaker } from './breaker.ts';
import {
  codeOf,
  COMMAND_MS,
  createRedisClient,
  DISCONNECTED,
  inTime,
  Late,
  type Master,
  type RedisClient,
} from './client.ts';
import { findObstacle } from './diagnosis.ts';
import { createConfirmer, type Write } from './confirm.ts';
import { judgeServer, parseInfo, type Finding, type InfoFields, type Replication } from './info.ts';
import { judgeSentinels } from './sentinels.ts';
import type { ScriptName } from './scripts.ts';
import { StoreRefused, StoreTakesNoWrites, StoreUnavailable, StoreUnfit } from '../store.ts';

export type { Write } from './confirm.ts';

export type ServerReport = {
  readonly name: string;
  readonly info: InfoFields;
  readonly findings: readonly Finding[];
};

export interface RedisConnection {
  /** Asks the master of `key`. Rejects with StoreUnavailable, whatever went wrong. */
  ask<T>(key: string, command: (commands: Redis) => Promise<T>): Promise<T>;
  run(script: ScriptName, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
  /** As `run`; when `hasWritten` says so of the answer, a replica has it too, or this rejects with StoreUnavailable. */
  confirm(write: Write, hasWritten?: (reply: unknown) => boolean): Promise<unknown>;
  /** What every master says of itself. Rejects with StoreUnavailable when one doesn't answer. */
  inspect(): Promise<readonly ServerReport[]>;
  /** As `inspect`. Rejects with StoreUnfit when a server loses tokens. */
  check(): Promise<readonly ServerReport[]>;
  /** Rejects with StoreTakesNoWrites when a master refuses every write. */
  checkWrites(): Promise<void>;
  /** What is wrong with the Sentinels, where there are any. Never rejects. */
  judgeSentinels(): Promise<readonly Finding[]>;
  /** Every master, to look at all keys. */
  masters(): readonly Redis[];
  readonly label: string;
  /** Goes before each key by itself; see RedisPlace. */
  readonly prefix: string;
  /** A replica must have what may not be lost; else `confirm` is `run`. */
  readonly isConfirmed: boolean;
  close(): Promise<void>;
}

/** What ioredis calls an answer that is an error. */
const REPLY_ERROR = 'ReplyError';
const LOADING = Object.assign(new Error('LOADING Redis is loading the dataset in memory'), {
  name: REPLY_ERROR,
});
const UNKNOWN = new Error('it is not known yet whether this server is still the master');

/** Longer than one command takes, because it may wait for the batch before it. */
const ASK_MS = COMMAND_MS + 100;

/** Rejects with one line without the password when the first connection fails. `isForLooking`: takes any server. */
export async function connectRedis(url: string, { isForLooking = false } = {}): Promise<RedisConnection> {
  const place = toPlace(url);
  const connection = toConnection(place);
  try {
    await connection.open();
    if (!isForLooking) await connection.check();
    return connection;
  } catch (error) {
    await connection.close();
    const obstacle = place.kind === 'single' ? undefined : await findObstacle(place);
    throw new Error(`the store at ${place.label} can not be used: ${obstacle ?? reasonOf(error)}`, {
      cause: error,
    });
  }
}

type Opening = RedisConnection & { open(): Promise<void> };

function toConnection(place: RedisPlace): Opening {
  let hasOpened = false;
  // Whoever comes back may come to another server than before, and to one that was replaced.
  const client = createRedisClient(place, (master) => hasOpened && breaker.trip(master, UNKNOWN, 0));
  const confirmer =
    place.leastReplicas > 0 ? createConfirmer(place, { now: () => performance.now(), onSilence }) : undefined;
  const breaker = createBreaker(isMaster);

  /** One that was replaced while it was frozen still calls itself master, but its replicas have left it. */
  async function isMaster(name: string, told: Replication): Promise<boolean> {
    return told.role === 'master' && (confirmer === undefined || (await confirmer.isWhole(name, told)));
  }

  function onSilence(name: string): void {
    const master = client.masters().find((one) => one.name === name);
    if (master !== undefined) breaker.trip(master, new Late());
  }

  /** Not asked at all: nothing was sent, and nothing will be. */
  function masterOf(key: string): Master {
    const master = client.masterOf(key);
    if (master === undefined) throw client.obstacle();
    const obstacle = breaker.obstacle(master.name);
    if (obstacle !== undefined) throw obstacle;
    return master;
  }

  async function ask<T>(key: string, command: (commands: Redis) => Promise<T>): Promise<T> {
    return attempt(
      { client, breaker },
      () => masterOf(key),
      () => command(client.commands),
    );
  }

  const run: RedisConnection['run'] = (script, keys, args) =>
    ask(keys[0] ?? '', (commands) => toScripted(commands)[script](...keys, ...args));

  return {
    label: place.label,
    prefix: place.prefix,
    isConfirmed: place.leastReplicas > 0,
    ask,
    run,
    async open() {
      await translate(client, async () => {
        await client.connect();
        await confirmer?.connect();
        hasOpened = confirmer !== undefined;
      });
    },
    async confirm(write, hasWritten = () => true) {
      if (confirmer === undefined) return run(write.script, write.keys, write.args);
      const { reply, isConfirmed } = await attempt(
        { client, breaker },
        () => masterOf(write.keys[0] ?? ''),
        () => confirmer.write(write),
      );
      if (isConfirmed || !hasWritten(reply)) return reply;
      throw new StoreTakesNoWrites('not every replica confirmed the write');
    },
    inspect: () => inspect(client, place.leastReplicas),
    async check() {
      const reports = await inspect(client, place.leastReplicas);
      refuseFaults(reports);
      for (const master of client.masters()) {
        if (!(await breaker.retry(master))) throw toUnavailable(breaker.obstacle(master.name), client);
      }
      return reports;
    },
    checkWrites: () => checkWrites(client),
    judgeSentinels: () => (place.kind === 'sentinel' ? judgeSentinels(place) : Promise.resolve([])),
    masters: () => client.masters().map(({ redis }) => redis),
    async close() {
      breaker.close();
      await Promise.all([client.close(), confirmer?.close()]);
    },
  };
}

function refuseFaults(reports: readonly ServerReport[]): void {
  const [fault] = reports.flatMap(({ findings }) => findings.filter(({ severity }) => severity === 'fault'));
  if (fault !== undefined) throw new StoreUnfit(fault.message);
}

/** A script that may write needs no key to be refused: by a full memory, a failed disk or missing replicas. */
async function checkWrites(client: RedisClient): Promise<void> {
  try {
    const tries = client.masters().map(({ redis }) => redis.eval('#!lua\nreturn 1', 0));
    await inTime(Promise.all(tries), COMMAND_MS);
  } catch (error) {
    const unavailable = toUnavailable(error, client);
    throw unavailable instanceof StoreRefused ? new StoreTakesNoWrites(unavailable.reason) : unavailable;
  }
}

async function inspect(client: RedisClient, leastReplicas: number): Promise<readonly ServerReport[]> {
  const masters = client.masters();
  if (masters.length === 0) throw new StoreUnavailable({ cause: new Error('no master is known') });
  return Promise.all(
    masters.map(async ({ name, redis }) => {
      // INFO passes before the connection is ready, and while the server still loads its data; nothing else does.
      if (redis.status === 'wait') redis.connect().catch(() => undefined);
      if (redis.status !== 'ready') {
        client.refresh();
        throw toUnavailable((await isLoading(redis)) ? LOADING : await obstacleOf(redis, client), client);
      }
      const info = parseInfo(await translate(client, () => inTime(redis.info(), COMMAND_MS)));
      return { name, info, findings: judgeServer(info, leastReplicas) };
    }),
  );
}

/** Why a server isn't connected: where that isn't known yet, what the first attempt to come back to it says. */
async function obstacleOf(redis: Redis, client: RedisClient): Promise<Error> {
  if (client.obstacle() === DISCONNECTED) {
    const waiting = new AbortController();
    await inTime(once(redis, 'error', { signal: waiting.signal }), COMMAND_MS).catch(() => undefined);
    waiting.abort();
  }
  return client.obstacle();
}

/** ioredis doesn't call a connection ready before the server has loaded its data; INFO is answered meanwhile. */
async function isLoading(redis: Redis): Promise<boolean> {
  if (redis.status !== 'connect') return false;
  const info = await inTime(redis.info('persistence'), COMMAND_MS).catch(() => '');
  return parseInfo(info).get('loading') === '1';
}

/** ioredis adds a method for each script, which its types can't know. */
function toScripted(commands: Redis) {
  return commands as unknown as Record<ScriptName, (...args: unknown[]) => Promise<unknown>>;
}

async function attempt<T>(
  { client, breaker }: { readonly client: RedisClient; readonly breaker: Breaker },
  choose: () => Master,
  action: () => Promise<T>,
): Promise<T> {
  let master: Master | undefined;
  try {
    master = choose();
    return await inTime(action(), ASK_MS);
  } catch (error) {
    const isOver = error instanceof Late || codeOf(error) === 'READONLY';
    if (master !== undefined && isOver) breaker.trip(master, toCause(error));
    throw toUnavailable(error, client);
  }
}

async function translate<T>(client: RedisClient, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw toUnavailable(error, client);
  }
}

function toUnavailable(error: unknown, client: RedisClient): StoreUnavailable {
  if (error instanceof StoreUnavailable) return error;
  const cause = toCause(isCut(error) ? client.obstacle() : error);
  return cause.name === REPLY_ERROR ? new StoreRefused(cause) : new StoreUnavailable({ cause });
}

/** ioredis says of a command only that its connection ended; the client knows what ended it. */
function isCut(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (
    /^(?:MaxRetriesPerRequest|Abort)Error$/.test(error.name) || error.message === 'Connection is closed.'
  );
}

/** ioredis hangs the command with its arguments on the error, and Redis may quote them: neither may reach a log. Nor does a script's hash help. */
function toCause(error: unknown): Error {
  if (!(error instanceof Error)) return new Error('unknown failure');
  const text = error.message === '' && 'code' in error ? String(error.code) : error.message;
  // A silent server is noticed by the command and, later, by the socket: that is one reason.
  if (text.startsWith('Socket timeout')) return new Late();
  const cause = new Error(text.split(/, with args|\n| script: [0-9a-f]{40}/, 1)[0]);
  cause.name = error.name;
  return cause;
}

function reasonOf(error: unknown): string {
  const cause = error instanceof StoreUnavailable && error.cause !== undefined ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}

function toPlace(url: string): RedisPlace {
  try {
    return parseRedisUrl(url);
  } catch (error) {
    throw new Error(`the store ${reasonOf(error)}`, { cause: error });
  }
}
