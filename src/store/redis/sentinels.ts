// The Sentinels of a URL: their news of another master, and for operators, whether they could replace one that dies.
import { Redis, type RedisOptions } from 'ioredis';
import type { RedisNode, RedisPlace } from '../../config/redis-url.ts';
import type { Finding } from './info.ts';
import { REPLY_ERROR } from './replies.ts';

const ANSWER_MS = 500;

/** Calls `onNews` when one of them announces another master. Returns how to stop. */
export function listenToSentinels(place: RedisPlace, onNews: () => void): () => void {
  // Not the failoverDetector of ioredis: it prints when a Sentinel is away, and begins to listen only once a master is connected.
  const sentinels = place.nodes.map((node) => {
    const sentinel = connectTo(place, node, {
      maxRetriesPerRequest: null,
      retryStrategy: (times) => Math.min(50 * times, 500),
    });
    sentinel.on('message', (_, news: string) => news.split(' ')[0] === place.masterName && onNews());
    sentinel.subscribe('+switch-master').catch(() => undefined);
    return sentinel;
  });
  return () => sentinels.forEach((sentinel) => sentinel.disconnect());
}

/** What an operator should know of them: that none could replace a master that dies, or that one of them is gone. */
export async function judgeSentinels(place: RedisPlace): Promise<readonly Finding[]> {
  const judged = await Promise.all(
    place.nodes.map(async (node) => ({ ...node, fault: await findFault(place, node) })),
  );
  const silent = judged.filter(({ fault }) => fault === SILENT).map(({ host, port }) => `${host}:${port}`);
  const severity = 'warning';
  if (judged.every(({ fault }) => fault !== undefined)) {
    const reason = judged.find(({ fault }) => fault !== SILENT)?.fault ?? 'none of them answers';
    const message = `its Sentinels can't replace a master that dies: ${reason}`;
    return [{ severity, name: 'sentinel_quorum', message }];
  }
  if (silent.length === 0) return [];
  const message = `its Sentinel does not answer: ${silent.join(', ')}`;
  return [{ severity, name: 'sentinel_silent', message }];
}

const SILENT = 'silent';

/** Why this one could not start a failover; undefined when it could. */
async function findFault(place: RedisPlace, node: RedisNode): Promise<string | undefined> {
  const sentinel = connectTo(place, node, { commandTimeout: ANSWER_MS, retryStrategy: null });
  try {
    await sentinel.call('SENTINEL', 'CKQUORUM', place.masterName);
    return undefined;
  } catch (error) {
    return error instanceof Error && error.name === REPLY_ERROR ? error.message : SILENT;
  } finally {
    sentinel.disconnect();
  }
}

function connectTo(
  place: RedisPlace,
  node: RedisNode,
  options: Pick<RedisOptions, 'commandTimeout' | 'maxRetriesPerRequest' | 'retryStrategy'>,
): Redis {
  const sentinel = new Redis({
    ...node,
    ...(place.sentinelUsername && { username: place.sentinelUsername }),
    ...(place.sentinelPassword && { password: place.sentinelPassword }),
    ...(place.isTls && { tls: {} }),
    enableReadyCheck: false,
    connectTimeout: ANSWER_MS,
    ...options,
  });
  // Without a listener ioredis prints.
  return sentinel.on('error', () => undefined);
}
