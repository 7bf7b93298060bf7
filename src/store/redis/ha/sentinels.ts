// The Sentinels of a URL: how ioredis asks them for the master, and their announcements of a new one.
import { Redis, type SentinelConnectionOptions } from 'ioredis';
import type { RedisPlace } from '../../../config/redis-url.ts';
import { COMMAND_MS } from '../deadline.ts';

const CONNECT_MS = 500;

/** Calls `onNews` when one of them announces another master, until what it returns is called. */
export function listenToSentinels(place: RedisPlace, onNews: () => void): () => void {
  // Not the failoverDetector of ioredis: it prints when a Sentinel is away, and begins to listen only once a master is connected.
  const sentinels = place.nodes.map((node) => {
    const sentinel = new Redis({
      ...node,
      ...(place.sentinelUsername && { username: place.sentinelUsername }),
      ...(place.sentinelPassword && { password: place.sentinelPassword }),
      ...(place.isTls && { tls: {} }),
      enableReadyCheck: false,
      connectTimeout: CONNECT_MS,
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

export function toSentinelOptions(place: RedisPlace) {
  return {
    sentinels: place.nodes.map(({ host, port }) => ({ host, port })),
    name: place.masterName,
    role: 'master' as const,
    ...(place.sentinelUsername && { sentinelUsername: place.sentinelUsername }),
    ...(place.sentinelPassword && { sentinelPassword: place.sentinelPassword }),
    ...(place.isTls && { enableTLSForSentinelMode: true, sentinelTLS: {} }),
    sentinelCommandTimeout: COMMAND_MS,
    // Unlimited: a client that gives up never reconnects.
    sentinelRetryStrategy: (times: number) => Math.min(50 * times, 250),
  } satisfies SentinelConnectionOptions;
}
