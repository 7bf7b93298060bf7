// The Sentinels of a URL: how ioredis asks them for the master, their announcements of a new one, and which don't respond.
import { Redis, type SentinelConnectionOptions } from 'ioredis';
import type { RedisPlace } from '../../../config/redis-url.ts';
import { COMMAND_MS, inTime, Late } from '../deadline.ts';
import type { Finding } from '../info.ts';

const ANSWER_MS = 500;

/** Commands for an unreachable Sentinel fail, instead of queueing in memory. */
const ask = async (one: Redis) =>
  inTime(one.status === 'reconnecting' ? Promise.reject(new Late()) : one.ping(), ANSWER_MS);

/** Calls `onNews` when a Sentinel announces a new master. */
export function listenToSentinels(place: RedisPlace, onNews: () => void) {
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
    // Without a listener, ioredis prints errors.
    sentinel.on('error', () => undefined);
    sentinel.on('message', (_, news: string) => news.split(' ')[0] === place.masterName && onNews());
    sentinel.subscribe('+switch-master').catch(() => undefined);
    return sentinel;
  });

  return {
    stop: () => sentinels.forEach((sentinel) => sentinel.disconnect()),
    findings: async () => {
      const answers = await Promise.allSettled(sentinels.map(ask));
      return place.nodes.flatMap(({ host, port }, index): readonly Finding[] => {
        const message = `the Sentinel ${host}:${port} does not answer: most must for a failover`;
        const isSilent = answers[index]?.status === 'rejected';
        return isSilent ? [{ severity: 'warning', name: `sentinel_${index + 1}`, message }] : [];
      });
    },
  };
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
