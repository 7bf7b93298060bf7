// Whether the Sentinels hold to a master: asked before writes count that fewer replicas have than before. Owns that one
// question, on connections of its own; who the master is for everybody else, ioredis finds out.
import { Redis } from 'ioredis';
import type { RedisNode, RedisPlace } from '../config/redis-url.ts';
import { toTexts } from './redis-replies.ts';

const ANSWER_MS = 500;

type Opinion = {
  readonly hasQuorum: boolean;
  readonly runId: string;
  readonly flags: string;
  readonly downAfterMs: number;
};

/**
 * How long a master must be silent before they hold it for dead. Undefined while it isn't certain that they keep this one: one
 * of them names another server, sees a failover or can't reach it, or none of those that answer could start a failover.
 */
export async function downAfterOf(place: RedisPlace, runId: string): Promise<number | undefined> {
  const asked = await Promise.all(place.nodes.map((node) => askOne(place, node)));
  const opinions = asked.filter((opinion) => opinion !== undefined);
  // One that is cut off from the others with us knows nothing of what they do.
  if (!opinions.some(({ hasQuorum }) => hasQuorum)) return undefined;
  if (!opinions.every((opinion) => opinion.runId === runId && opinion.flags === 'master')) return undefined;
  return Math.max(...opinions.map(({ downAfterMs }) => downAfterMs));
}

/** Undefined when it doesn't answer. */
async function askOne(place: RedisPlace, { host, port }: RedisNode): Promise<Opinion | undefined> {
  const sentinel = new Redis({
    host,
    port,
    ...(place.sentinelUsername && { username: place.sentinelUsername }),
    ...(place.sentinelPassword && { password: place.sentinelPassword }),
    ...(place.isTls && { tls: {} }),
    lazyConnect: true,
    enableReadyCheck: false,
    connectTimeout: ANSWER_MS,
    commandTimeout: ANSWER_MS,
    retryStrategy: null,
  });
  sentinel.on('error', () => undefined);
  try {
    await sentinel.connect();
    const fields = toTexts(await sentinel.call('SENTINEL', 'MASTER', place.masterName));
    const field = (name: string) => fields[fields.indexOf(name) + 1] ?? '';
    const hasQuorum = await sentinel.call('SENTINEL', 'CKQUORUM', place.masterName).then(
      () => true,
      () => false,
    );
    return {
      hasQuorum,
      runId: field('runid'),
      flags: field('flags'),
      downAfterMs: Number(field('down-after-milliseconds')),
    };
  } catch {
    return undefined;
  } finally {
    sentinel.disconnect();
  }
}
