// The store for many machines: one Redis, Redis behind Sentinels, or a Cluster. Owns putting the parts together; what a
// failover may lose all the same is not repaired here, see docs/redis.md.
import { connectRedis, type ServerReport } from './redis-connection.ts';
import { createServerClock, type ServerClock } from './redis-clock.ts';
import { createRedisCounters } from './redis-counters.ts';
import { createRedisDocuments } from './redis-documents.ts';
import { createRedisRecords } from './redis-records.ts';
import type { Clock, Store } from './store.ts';

export type RedisStoreOptions = {
  /** In the notation of config/redis-url.ts, with the password inside if there is one. */
  readonly url: string;
  /** Of this machine. */
  readonly now: Clock;
  /** Goes by the server's clock where this machine's is off; else by `now` alone. */
  readonly followsServer?: boolean | undefined;
  /** Hears what is less safe than it could be at this server, one line each. */
  readonly onWarning?: ((message: string) => void) | undefined;
};

/** Rejects with one line, without the password, when the server can't be reached or isn't fit to hold tokens. */
export async function openRedis(options: RedisStoreOptions): Promise<Store> {
  const { url, now, followsServer = false, onWarning } = options;
  const connection = await connectRedis(url);
  const clock = createServerClock(now);
  const warn = (message: string) => onWarning?.(`the store at ${connection.label}: ${message}`);

  async function look(ask: () => Promise<readonly ServerReport[]>): Promise<readonly ServerReport[]> {
    const askedAt = now();
    const reports = await ask();
    if (followsServer && clock.follow(reports, askedAt)) warn(toWarning(clock));
    return reports;
  }

  const reports = await look(() => connection.inspect()).catch(async (error: unknown) => {
    await connection.close();
    throw error;
  });
  for (const message of new Set(reports.flatMap(({ findings }) => findings.map((one) => one.message)))) {
    warn(message);
  }
  return {
    clock,
    records: createRedisRecords(connection, clock.now),
    documents: createRedisDocuments(connection),
    counters: createRedisCounters(connection, clock.now),
    async ping() {
      await look(() => connection.check());
    },
    close: () => connection.close(),
  };
}

function toWarning({ ahead }: ServerClock): string {
  if (ahead === 0) return "its clock and this machine's agree again";
  const side = ahead > 0 ? 'ahead of' : 'behind';
  return `its clock is ${Math.abs(ahead)} s ${side} this machine's, which is in every token; let both follow a time server`;
}
