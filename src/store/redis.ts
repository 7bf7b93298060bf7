// The store for many machines: one Redis. Keys are laid out for Cluster already. Owns putting the parts together;
// what a failover may lose is not repaired here.
import { connectRedis } from './redis-connection.ts';
import { createRedisCounters } from './redis-counters.ts';
import { createRedisDocuments } from './redis-documents.ts';
import { createRedisRecords } from './redis-records.ts';
import type { Clock, Store } from './store.ts';

export type RedisStoreOptions = {
  /** redis:// or rediss://, with the password inside if there is one. */
  readonly url: string;
  readonly now: Clock;
};

/** Rejects with one line, without the password, when the server can't be reached or isn't fit to hold tokens. */
export async function openRedis({ url, now }: RedisStoreOptions): Promise<Store> {
  const connection = await connectRedis(url);
  return {
    records: createRedisRecords(connection, now),
    documents: createRedisDocuments(connection),
    counters: createRedisCounters(connection, now),
    ping: () => connection.check(),
    close: () => connection.close(),
  };
}
