// The store for many machines: one Redis, Redis behind Sentinels, or a Cluster. docs/redis.md says which writes a failover may
// still lose.
import { connectRedis, type RedisConnection } from './connection.ts';
import { createServerClock } from './clock.ts';
import { createRedisCounters } from './counters.ts';
import { createRedisDocuments } from './documents.ts';
import { createRedisIndex } from './index-entries.ts';
import { createRedisRecords } from './records.ts';
import { inWholeMs } from '../lifetime.ts';
import { type Clock, type RecordStore, type Store, StoreRefused, StoreTakesNoWrites } from '../store.ts';

type RedisStoreOptions = Readonly<{
  /** In the format of config/redis-url.ts, including any password. */
  url: string;
  /** This machine's clock. */
  now: Clock;
  /** Uses the server's clock where this machine's is off; otherwise only `now`. */
  followsServer?: boolean | undefined;
  /** Called with a line when a problem of the server begins, and with one when it is resolved. */
  onWarning?: ((message: string) => void) | undefined;
}>;

const PROBE = {
  kind: 'Probe',
  key: 'readiness',
  payload: '',
  ttlSeconds: 60,
  grant: 'probe',
  alias: 'probe',
};

/** Rejects with one line, without the password, when the server can't be reached or isn't fit to hold tokens. */
export async function openRedis(options: RedisStoreOptions): Promise<Store> {
  const { url, followsServer = false, onWarning } = options;
  const now = inWholeMs(options.now);
  const clock = createServerClock(now);
  const warnings = new Map<string, string>();

  async function look(to: RedisConnection): Promise<void> {
    const warn = (message: string) => onWarning?.(`the store at ${to.label}: ${message}`);
    const askedAt = now();
    const reports = await to.check();
    if (followsServer && clock.follow(reports, askedAt)) warn(toWarning(clock.ahead));
    // One line for each new problem, and for each resolved one.
    const findings = reports.flatMap((report) => report.findings);
    const found = new Map(findings.map(({ name, message }) => [name, message]));
    for (const [name, message] of found) if (!warnings.has(name)) warn(message);
    for (const [name, message] of warnings) if (!found.has(name)) warn(`resolved: ${message}`);
    warnings.clear();
    found.forEach((message, name) => warnings.set(name, message));
  }

  const connection = await connectRedis(url, look);
  const records = createRedisRecords(connection, clock.now);
  return {
    clock,
    records,
    documents: createRedisDocuments(connection),
    index: createRedisIndex(connection),
    counters: createRedisCounters(connection, clock.now),
    warnings: () => [...warnings.keys()],
    async ping() {
      await look(connection);
      await tryRecords(records, warnings.get('replicas'));
    },
    close: () => connection.close(),
  };
}

function toWarning(ahead: number): string {
  if (ahead === 0) return "its clock and this machine's agree again";
  const side = ahead > 0 ? 'ahead of' : 'behind';
  return `its clock is ${Math.abs(ahead)} s ${side} this machine's, which is in every token; let both follow a time server`;
}

/** Reads and writes as requests do, so that a missing permission or replica is known before a request fails. */
async function tryRecords(records: RecordStore, replicaWarning: string | undefined): Promise<void> {
  await records.find(PROBE.kind, PROBE.key);
  try {
    await records.save(PROBE);
    await records.destroy(PROBE.kind, PROBE.key);
  } catch (error) {
    if (error instanceof StoreTakesNoWrites && replicaWarning !== undefined) {
      throw new StoreTakesNoWrites(replicaWarning, { cause: error });
    }
    if (error instanceof StoreRefused) throw new StoreTakesNoWrites(error.reason, { cause: error });
    throw error;
  }
}
