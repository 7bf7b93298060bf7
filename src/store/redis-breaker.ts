// Says no at once while a server keeps others waiting or is no master any more: nothing goes out but one question, again
// and again, until a master answers it in time. So an outage costs one request its patience, nothing queues up, and nobody
// reads what a demoted master still remembers. Owns no timeout.
import { parseInfo } from './redis-info.ts';
import type { Master } from './redis-client.ts';

const PROBE_EVERY_MS = 100;

export interface Breaker {
  isOpen(name: string): boolean;
  /** An answer of this server was late, or said that it is a replica. */
  trip(master: Master): void;
  /** It has answered. */
  reset(name: string): void;
  close(): void;
}

export function createBreaker(): Breaker {
  const open = new Map<string, NodeJS.Timeout>();
  let isClosed = false;

  function probeLater(master: Master): void {
    if (isClosed) return;
    const timer = setTimeout(() => void probe(master), PROBE_EVERY_MS);
    timer.unref();
    open.set(master.name, timer);
  }

  async function probe(master: Master): Promise<void> {
    try {
      const role = parseInfo(await master.redis.info('replication')).get('role');
      if (role === 'master') open.delete(master.name);
      else probeLater(master);
    } catch {
      // An instance that has ended keeps nobody waiting; commands find the next one, and its own state.
      if (master.redis.status === 'end') open.delete(master.name);
      else probeLater(master);
    }
  }

  return {
    isOpen: (name) => open.has(name),
    trip(master) {
      if (!open.has(master.name)) probeLater(master);
    },
    reset(name) {
      clearTimeout(open.get(name));
      open.delete(name);
    },
    close() {
      isClosed = true;
      for (const timer of open.values()) clearTimeout(timer);
      open.clear();
    },
  };
}
