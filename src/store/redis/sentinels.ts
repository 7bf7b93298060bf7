// The Sentinels of a URL: their news of another master.
import { Redis } from 'ioredis';
import type { RedisPlace } from '../../config/redis-url.ts';

const ANSWER_MS = 500;

/** Calls `onNews` when one of them announces another master. Returns how to stop. */
export function listenToSentinels(place: RedisPlace, onNews: () => void): () => void {
  // Not the failoverDetector of ioredis: it prints when a Sentinel is away, and begins to listen only once a master is connected.
  const sentinels = place.nodes.map((node) => {
    const sentinel = new Redis({
      ...node,
      ...(place.sentinelUsername && { username: place.sentinelUsername }),
      ...(place.sentinelPassword && { password: place.sentinelPassword }),
      ...(place.isTls && { tls: {} }),
      enableReadyCheck: false,
      connectTimeout: ANSWER_MS,
      maxRetriesPerRequest: null,
      retryStrategy: (times) => Math.min(50 * times, 500),
    });
    // Without a listener ioredis prints.
    sentinel.on('error', () => undefined);
    sentinel.on('message', (_, news: string) => news.split(' ')[0] === place.masterName && onNews());
    sentinel.subscribe('+switch-master').catch(() => undefined);
    return sentinel;
  });
  return () => sentinels.forEach((sentinel) => sentinel.disconnect());
}
