// The store for many machines: one Redis, Redis behind Sentinels, or a Cluster. Owns putting the parts together; what a
// failover may lose all the same is not repaired here, see docs/redis.md.
import { connectRedis, type RedisConnection } from './redis-connection.ts';
import { createRedisCounters } from './redis-counters.ts';
import { createRedisDocuments } from './redis-documents.ts';
import { createRedisRecords } from './redis-records.ts';
import type { Clock, Store } from './store.ts';

export type RedisStoreOptions = {
  /** In the notation of config/redis-url.ts, with the password inside if there is one. */
  readonly url: string;
  readonly now: Clock;
  /** Hears what is less safe than it could be at this server, one line each. */
  readonly onWarning?: ((message: string) => void) | undefined;
};

/** Rejects with one line, without the password, when the server can't be reached or isn't fit to hold tokens. */
export async function openRedis({ url, now, onWarning }: RedisStoreOptions): Promise<Store> {
  const connection = await connectRedis(url);
  if (onWarning !== undefined) await warn(connection, onWarning);
  return {
    records: createRedisRecords(connection, now),
    documents: createRedisDocuments(connection),
    counters: createRedisCounters(connection, now),
    ping: () => connection.check(),
    close: () => connection.close(),
  };
}

async function warn(connection: RedisConnection, onWarning: (message: string) => void): Promise<void> {
  const messages = (await connection.inspect()).flatMap(({ findings }) =>
    findings.map(({ message }) => message),
  );
  for (const message of new Set(messages)) onWarning(`the store at ${connection.label}: ${message}`);
}
