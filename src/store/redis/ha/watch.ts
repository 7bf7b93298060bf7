// Asks each master for its role and its replicas once a second. A write that must survive a failover waits for these replicas.
import type { Master, RedisClient } from '../client.ts';
import { COMMAND_MS, inTime, Late } from '../deadline.ts';
import { parseInfo, type Replication, toReplication } from '../info.ts';

const LOOK_EVERY_MS = 1000;
const SEEN_FOR_MS = 2500;
/** In seconds: a replica acknowledges once a second, so this one is frozen, cut off or loading its data. */
const LAG = 2;
/**
 * For how many answers a replica that is gone still counts as missing: it may just have been promoted, and its old master learns
 * that only a second or two later. Counted in answers, because a frozen master gives none.
 */
const MISSED_FOR = 5;

export type Watch = ReturnType<typeof createWatch>;

type Seen = Replication & { readonly at: number };

/** `leastReplicas`: how many replicas are needed in any case; with 0, only a demoted master is asked. */
export function createWatch(client: RedisClient, leastReplicas: number) {
  const seen = new Map<string, Seen>();
  const demoted = new Map<string, Error>();
  /** How many replicas were online in the last answers of each history. */
  const counts = new Map<string, readonly number[]>();
  let timer: NodeJS.Timeout | undefined;

  const isWatched = (name: string) => leastReplicas > 0 || demoted.has(name);

  async function look(master: Master): Promise<Replication | undefined> {
    const { name, redis } = master;
    try {
      const reply = toReplication(parseInfo(await inTime(redis.info('replication'), COMMAND_MS)));
      seen.set(name, { ...reply, at: performance.now() });
      if (reply.role === 'master') {
        demoted.delete(name);
      } else {
        demoted.set(name, new Error(`it is a ${reply.role}, not the master`));
        client.refresh();
      }
      return reply;
    } catch (error) {
      if (error instanceof Late) client.drop(master);
      return undefined;
    }
  }

  async function lookAtAll(): Promise<void> {
    const masters = client.masters().flatMap(({ name }) => client.masterAt(name) ?? []);
    const replies = await Promise.all(masters.filter(({ name }) => isWatched(name)).map(look));
    for (const { history, online } of replies.filter((one) => one !== undefined)) {
      counts.set(history, [...(counts.get(history) ?? []), online].slice(-MISSED_FOR));
    }
  }

  return {
    /** Asks all masters now, then once a second. */
    async start(): Promise<void> {
      timer = setInterval(() => void lookAtAll(), LOOK_EVERY_MS);
      timer.unref();
      await lookAtAll();
    },
    /** How many replicas must confirm a write; undefined while one of them is missing. */
    replicasOf(name: string): number | undefined {
      const last = seen.get(name);
      if (last === undefined || performance.now() - last.at > SEEN_FOR_MS) return undefined;
      const needed = Math.max(leastReplicas, last.online, ...(counts.get(last.history) ?? []));
      const isWhole = last.online === needed && last.lagSeconds < LAG;
      return last.role === 'master' && isWhole ? needed : undefined;
    },
    /** Why nothing may be read from this master: it has said that it is a replica. */
    obstacle: (name: string): Error | undefined => demoted.get(name),
    /** Notes that this server rejected a write, because it is a replica. */
    demote(name: string, error: Error): void {
      demoted.set(name, error);
      seen.delete(name);
    },
    /** Asks again, because another server may be the master of this name now. */
    renew(name: string): void {
      seen.delete(name);
      const master = client.masterAt(name);
      if (master !== undefined && isWatched(name)) void look(master);
    },
    close: () => clearInterval(timer),
  };
}
