// The connection to Redis: each command has a deadline, each failure becomes StoreUnavailable, and replicas confirm writes
// that a failover must not lose.
import type { Redis } from 'ioredis';
import { parseRedisUrl, type RedisPlace } from '../../config/redis-url.ts';
import { codeOf, createSingleClient, type Master, type RedisClient } from './client.ts';
import { AnswerLost, COMMAND_MS, inTime, isReply, Late, toAnswerLost } from './deadline.ts';
import { createClusterClient } from './ha/cluster.ts';
import { createConfirm } from './ha/confirm.ts';
import { createWatch } from './ha/watch.ts';
import { judgeServer, parseInfo, type Finding, type InfoFields } from './info.ts';
import type { ScriptName } from './scripts.ts';
import { withMayBeDone, StoreRefused, StoreTakesNoWrites, StoreUnavailable, StoreUnfit } from '../store.ts';

export type ServerReport = Readonly<{ name: string; info: InfoFields; findings: readonly Finding[] }>;

export type RedisConnection = ReturnType<typeof toConnection>;

type Call = [script: ScriptName, keys: readonly string[], args: readonly (string | number)[]];

/** Longer than COMMAND_MS, because a command may wait for the batch before it. */
const ASK_MS = COMMAND_MS + 100;

/** Rejects with one line without the password when the first connection fails, or `look` does. */
export async function connectRedis(
  url: string,
  look: (connection: RedisConnection) => Promise<unknown> = (connection) => connection.check(),
): Promise<RedisConnection> {
  const place = parseRedisUrl(url);
  const connection = toConnection(place);
  try {
    await connection.open();
    await look(connection);
    return connection;
  } catch (error) {
    await connection.close();
    const reason = error instanceof StoreUnavailable ? (error.cause ?? error) : error;
    const text = reason instanceof Error ? reason.message : String(reason);
    throw new Error(`the store at ${place.label} can't be used: ${text}`, { cause: error });
  }
}

/** Resolves with the problems of each server. Rejects with one line, without a password. */
export async function inspectRedis(url: string) {
  const connection = await connectRedis(url, async () => undefined);
  try {
    return (await connection.inspect()).map(({ name, findings }) => ({
      server: name === 'master' ? connection.label : name,
      findings,
    }));
  } finally {
    await connection.close();
  }
}

function toConnection(place: RedisPlace) {
  const isConfirmed = place.leastReplicas > 0;
  const createClient = place.kind === 'cluster' ? createClusterClient : createSingleClient;
  const onReady = () => watch.renew('master');
  const client = createClient(place, isConfirmed ? undefined : onReady);
  const writer = isConfirmed ? createClient(place, onReady) : client;
  const clients = isConfirmed ? [client, writer] : [client];
  const watch = createWatch(writer, place.leastReplicas);
  const confirmWrite = createConfirm(writer, watch);

  /** Throws while the command can't be sent. */
  function masterOf(key: string): Master {
    const master = client.masterOf(key);
    if (master === undefined) throw client.obstacle();
    const obstacle = watch.obstacle(master.name);
    if (obstacle !== undefined) throw obstacle;
    return master;
  }

  /** Asks the master of `key`; of several keys (`one or other`), that of the first. Rejects with StoreUnavailable for every failure. */
  async function ask<T>(
    key: string,
    command: (commands: Redis) => Promise<T>,
    toFailure = (error: unknown) => error,
  ): Promise<T> {
    let master: Master | undefined;
    try {
      master = masterOf(key);
      return await inTime(command(client.commands), ASK_MS);
    } catch (error) {
      if (master === undefined) throw toUnavailable(error, client);
      // What the failure says about the server.
      if (error instanceof Late) client.drop(master);
      else if (codeOf(error) === 'READONLY') watch.demote(master.name, toCause(error));
      throw toUnavailable(toFailure(error), client, key);
    }
  }

  const run = (...[script, keys, args]: Call): Promise<unknown> =>
    ask(keys.join(' or '), toCommand(script, keys, args));

  return {
    label: place.label,
    /** Replicas must confirm writes. Otherwise `confirm` is `run`. */
    isConfirmed,
    ask,
    run,
    async open(): Promise<void> {
      for (const one of clients) await translate(one, () => one.connect());
      await watch.start();
    },
    /** Like `run`, but if the answer `hasWritten`, rejects with StoreUnavailable unless all replicas have the write, too. */
    async confirm(
      ...[script, keys, args, hasWritten = () => true]: [...Call, hasWritten?: (reply: unknown) => boolean]
    ): Promise<unknown> {
      const key = keys.join(' or ');
      if (!isConfirmed) return ask(key, toCommand(script, keys, args), toAnswerLost);
      const outcome = await translate(writer, () => confirmWrite({ script, keys, args }), key);
      if (outcome.isConfirmed || !hasWritten(outcome.reply)) return outcome.reply;
      const error = new StoreTakesNoWrites('not every replica confirmed the write');
      throw Object.assign(error, { mayBeDone: true });
    },
    /** Resolves with a report for each master. Rejects with StoreUnavailable when one doesn't answer. */
    inspect: () => inspect(client, place.leastReplicas),
    /** Like `inspect`, but rejects with StoreUnfit when a server would lose tokens. */
    async check(): Promise<readonly ServerReport[]> {
      const reports = await inspect(client, place.leastReplicas);
      const findings = reports.flatMap((report) => report.findings);
      const fault = findings.find(({ severity }) => severity === 'fault');
      if (fault !== undefined) throw new StoreUnfit(fault.message);
      return reports;
    },
    async close(): Promise<void> {
      watch.close();
      await Promise.all(clients.map((one) => one.close()));
    },
  };
}

async function inspect(client: RedisClient, leastReplicas: number): Promise<readonly ServerReport[]> {
  const masters = client.masters();
  if (masters.length === 0) throw new StoreUnavailable({ cause: new Error('no master is known') });
  const besides = client.findings?.() ?? [];
  return Promise.all(
    masters.map(async ({ name, redis }, index) => {
      // Checked first: INFO works before the connection is ready; other commands don't.
      if (redis.status === 'wait') redis.connect().catch(() => undefined);
      if (redis.status !== 'ready') {
        client.refresh();
        throw toUnavailable(client.obstacle(), client);
      }
      const info = parseInfo(await translate(client, () => inTime(redis.info(), COMMAND_MS)));
      const findings = judgeServer(info, leastReplicas);
      return { name, info, findings: index === 0 ? [...findings, ...(await besides)] : findings };
    }),
  );
}

/** ioredis adds a method for each script, which its types can't know. */
const toCommand =
  (...[script, keys, args]: Call) =>
  (commands: Redis) =>
    (commands as unknown as Record<ScriptName, (...given: unknown[]) => Promise<unknown>>)[script](
      keys.length,
      ...keys,
      ...args,
    );

/**
 * For use before a write that can't be undone: rewrites `field` at `key` unchanged, and rejects if the replicas don't confirm that.
 */
export async function probe(connection: RedisConnection, key: string, field: string): Promise<void> {
  if (!connection.isConfirmed) return;
  await withMayBeDone(false, connection.confirm('touch', [key], [field]));
}

async function translate<T>(client: RedisClient, action: () => Promise<T>, key?: string): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw toUnavailable(error, client, key);
  }
}

function toUnavailable(error: unknown, client: RedisClient, key = ''): StoreUnavailable {
  if (error instanceof StoreUnavailable) return error;
  if (error instanceof AnswerLost) {
    return Object.assign(toUnavailable(error.cause, client, key), { mayBeDone: true });
  }
  // If the connection broke, the command's error doesn't say why; the client's does.
  const isAnswer = error instanceof Late || isReply(error);
  const cause = toCause(isAnswer ? error : client.obstacle());
  if (codeOf(cause) === 'WRONGTYPE')
    cause.message = `another program wrote to the store's key ${key}: delete it (${cause.message})`;
  return isReply(cause) ? new StoreRefused(cause) : new StoreUnavailable({ cause });
}

/** ioredis attaches the command and its arguments, and Redis may quote them: neither may reach a log. A script's hash is no help there. */
function toCause(error: unknown): Error {
  if (!(error instanceof Error)) return new Error('unknown failure');
  const text = error.message === '' && 'code' in error ? String(error.code) : error.message;
  const cause = new Error(text.split(/, with args|\n| script: [0-9a-f]{40}/, 1)[0]);
  cause.name = error.name;
  return cause;
}
