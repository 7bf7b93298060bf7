// Says no at once while a server keeps others waiting or is not the master any more: nothing goes out but one question, again
// and again, until the master answers it in time. So an outage costs one request its patience, nothing queues up, and nobody
// reads what an old master still remembers. Owns no timeout, and not what tells an old master from the master.
import { parseInfo, type Replication, toReplication } from './info.ts';
import { COMMAND_MS, inTime, type Master } from './client.ts';

const PROBE_EVERY_MS = 100;

export interface Breaker {
  /** Why this server isn't asked; undefined when it is. */
  obstacle(name: string): Error | undefined;
  /** An answer of this server was late, or said that it is a replica; or it is another one now. It is asked `afterMs`. */
  trip(master: Master, obstacle: Error, afterMs?: number): void;
  /** Asks at once. True: it is open no more. */
  retry(master: Master): Promise<boolean>;
  close(): void;
}

type Open = {
  readonly obstacle: Error;
  timer?: NodeJS.Timeout;
  probe?: Promise<void> | undefined;
  trips: number;
};

/** `isMaster` judges what a server says of itself. */
export function createBreaker(isMaster: (name: string, told: Replication) => Promise<boolean>): Breaker {
  const open = new Map<string, Open>();
  let isClosed = false;

  function probeLater(master: Master, one: Open, afterMs = PROBE_EVERY_MS): void {
    if (isClosed) return;
    one.timer = setTimeout(() => void probe(master, one), afterMs);
    one.timer.unref();
  }

  function probe(master: Master, one: Open): Promise<void> {
    clearTimeout(one.timer);
    one.probe ??= ask(master, one).finally(() => (one.probe = undefined));
    return one.probe;
  }

  async function ask(master: Master, one: Open): Promise<void> {
    const { trips } = one;
    // An instance that has ended keeps nobody waiting; commands find the next one, and its own state.
    const isOver = await isAnswering(master).catch(() => master.redis.status === 'end');
    // Whatever happened meanwhile may have brought another server.
    if (isOver && one.trips === trips) open.delete(master.name);
    else probeLater(master, one);
  }

  /** Rejects where there is no answer. */
  async function isAnswering({ name, redis }: Master): Promise<boolean> {
    // Twice: one that was frozen may give its first answer before it has noticed that its replicas left.
    await inTime(redis.info('replication'), COMMAND_MS);
    return isMaster(name, toReplication(parseInfo(await inTime(redis.info('replication'), COMMAND_MS))));
  }

  return {
    obstacle: (name) => open.get(name)?.obstacle,
    trip(master, obstacle, afterMs) {
      const known = open.get(master.name);
      if (known !== undefined) {
        known.trips += 1;
        return;
      }
      const one: Open = { obstacle, trips: 0 };
      open.set(master.name, one);
      probeLater(master, one, afterMs);
    },
    async retry(master) {
      const one = open.get(master.name);
      if (one !== undefined) await probe(master, one);
      return !open.has(master.name);
    },
    close() {
      isClosed = true;
      for (const { timer } of open.values()) clearTimeout(timer);
      open.clear();
    },
  };
}
