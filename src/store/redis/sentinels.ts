// What the Sentinels say of a master and of each other, asked on connections of its own: before writes count that fewer replicas
// have than before, and for operators. Who the master is for everybody else, ioredis finds out.
import { Redis } from 'ioredis';
import type { RedisNode, RedisPlace } from '../../config/redis-url.ts';
import type { Finding } from './info.ts';
import { toTexts } from './replies.ts';

const ANSWER_MS = 500;

type Opinion = {
  /** Why they could not replace a master that dies; undefined when they could. */
  readonly quorumFault: string | undefined;
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
  if (!opinions.some(({ quorumFault }) => quorumFault === undefined)) return undefined;
  if (!opinions.every((opinion) => opinion.runId === runId && opinion.flags === 'master')) return undefined;
  return Math.max(...opinions.map(({ downAfterMs }) => downAfterMs));
}

/** What an operator should know of them: that nobody would replace a master that dies, or that one of them is gone. */
export async function judgeSentinels(place: RedisPlace): Promise<readonly Finding[]> {
  const asked = await Promise.all(place.nodes.map((node) => askOne(place, node)));
  const faults = asked.flatMap((opinion) => (opinion === undefined ? [] : [opinion.quorumFault]));
  const severity = 'warning';
  if (!faults.includes(undefined)) {
    const reason = faults[0] ?? 'none of them answers';
    const message = `its Sentinels can't replace a master that dies: ${reason}`;
    return [{ severity, name: 'sentinel_quorum', message }];
  }
  if (faults.length === place.nodes.length) return [];
  const silent = place.nodes.filter((_, index) => asked[index] === undefined);
  const names = silent.map(({ host, port }) => `${host}:${port}`).join(', ');
  return [{ severity, name: 'sentinel_silent', message: `its Sentinel does not answer: ${names}` }];
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
    const quorumFault = await sentinel.call('SENTINEL', 'CKQUORUM', place.masterName).then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    return {
      quorumFault,
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
