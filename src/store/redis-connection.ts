// The connection to Redis: fails fast, comes back fast, never sends twice. Owns its settings, the translation of every
// failure into StoreUnavailable, and what a server must be to hold tokens. Knows no key and no script's meaning.
import { Redis, type RedisOptions } from 'ioredis';
import { SCRIPTS, type ScriptName } from './redis-scripts.ts';
import { StoreUnavailable } from './store.ts';

export interface RedisConnection {
  /** Runs a command. Rejects with StoreUnavailable, whatever went wrong. */
  ask<T>(command: (client: Redis) => Promise<T>): Promise<T>;
  run(script: ScriptName, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
  /** Rejects when the server doesn't answer, or is one that loses tokens. */
  check(): Promise<void>;
  close(): Promise<void>;
}

const OPTIONS = {
  lazyConnect: true,
  connectTimeout: 1000,
  commandTimeout: 300,
  // A frozen server accepts and says nothing: after a second give the connection up, so that nothing piles up in it.
  socketTimeout: 1000,
  disconnectTimeout: 200,
  // A command in flight when the connection is cut may have been executed: it is answered with 503, never sent again.
  maxRetriesPerRequest: 0,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  enableAutoPipelining: true,
  maxLoadingRetryTime: 500,
  retryStrategy: (times: number) => Math.min(50 * times, 500),
  // RESP puts the error's code in its first word. A demoted master: look again who the master is.
  reconnectOnError: (error: Error) => codeOf(error) === 'READONLY',
  scripts: { ...SCRIPTS },
} satisfies RedisOptions;

/** Rejects with one line without the password when the first connection fails. */
export async function connectRedis(url: string): Promise<RedisConnection> {
  const place = toPlace(url);
  let lastError: unknown;
  const client = new Redis(url, OPTIONS);
  // Each command hears of its own failure; without a listener ioredis prints.
  client.on('error', (error: unknown) => (lastError = error));
  const connection = toConnection(client);
  try {
    await client.connect().catch((error: unknown) => {
      // connect() itself only says that the connection is closed.
      throw new StoreUnavailable({ cause: toCause(lastError ?? error) });
    });
    await connection.check();
    return connection;
  } catch (error) {
    client.disconnect();
    const cause = error instanceof Error ? error.cause : error;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`the store at ${place} can not be used: ${reason}`, { cause: error });
  }
}

function toConnection(client: Redis): RedisConnection {
  // ioredis adds a method for each script, which its types can't know.
  const scripted = client as unknown as Record<ScriptName, (...args: unknown[]) => Promise<unknown>>;

  async function ask<T>(command: (redis: Redis) => Promise<T>): Promise<T> {
    try {
      return await command(client);
    } catch (error) {
      throw new StoreUnavailable({ cause: toCause(error) });
    }
  }

  return {
    ask,
    run: (script, keys, args) => ask(() => scripted[script](...keys, ...args)),
    async check() {
      // INFO passes before the connection is ready, and while the server still loads its data; nothing else does.
      if (client.status !== 'ready')
        throw new StoreUnavailable({ cause: new Error(`connection: ${client.status}`) });
      const fault = findFault(await ask((redis) => redis.info()));
      if (fault !== undefined) throw new StoreUnavailable({ cause: new Error(fault) });
    },
    async close() {
      try {
        await client.quit();
      } catch {
        // Not connected: there is nothing to say good-bye to.
      }
      client.disconnect();
    },
  };
}

/** Read with INFO, because managed servers forbid CONFIG. */
function findFault(info: string): string | undefined {
  const fields = new Map(
    info.split('\r\n').map((line) => [line.split(':', 1)[0], line.slice(line.indexOf(':') + 1)]),
  );
  const policy = fields.get('maxmemory_policy') ?? 'noeviction';
  if (policy !== 'noeviction')
    return `its maxmemory-policy is ${policy}, which throws tokens away; it must be noeviction`;
  const role = fields.get('role') ?? 'master';
  return role === 'master' ? undefined : `it is a ${role}, not the master`;
}

/** ioredis hangs the command with its arguments on the error, and Redis may quote them: neither may reach a log. */
function toCause(error: unknown): Error {
  if (!(error instanceof Error)) return new Error('unknown failure');
  const text = error.message === '' && 'code' in error ? String(error.code) : error.message;
  const cause = new Error(text.split(/, with args|\n/, 1)[0]);
  cause.name = error.name;
  return cause;
}

function codeOf(error: Error): string {
  return error.message.split(' ', 1)[0] ?? '';
}

function toPlace(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null || !/^rediss?:$/.test(parsed.protocol))
    throw new Error('the store must be a redis:// or rediss:// URL');
  return `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
}
