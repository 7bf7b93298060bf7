// RD-34: machine tokens leave no key behind, and the processes don't grow. POSTERN_CHAOS_TOKENS sets their number (default 100,000).
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { startRedis } from '../world/servers.ts';
import { clientCredentials } from '../world/token-endpoint.ts';
import { type Fleet, startFleet } from './fleet.ts';

const TOKENS = Number(process.env['POSTERN_CHAOS_TOKENS'] ?? 100_000);
const [PARTS, AT_ONCE] = [10, 32];
/** The longest window of a limit. Seconds. */
const WINDOW_SECONDS = 61;

/** Takes tokens. A store that is late on a busy machine, or a limit, doesn't fail this test. */
async function takeTokens({ worlds }: Fleet, count: number): Promise<void> {
  let left = count;
  const take = async () => {
    while (left > 0) {
      left -= 1;
      const world = worlds[left % worlds.length];
      if (world) expect([200, 429, 503]).toContain((await clientCredentials(world)).status);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, take));
}

/** Memory of all nodes, in MB. */
async function memory({ nodes }: Fleet): Promise<number> {
  const sizes = nodes.map(async ({ process: { pid } }) => {
    const status = await readFile(`/proc/${pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
  });
  return Math.round((await Promise.all(sizes)).reduce((sum, size) => sum + size, 0));
}

it(
  'RD-34: machine tokens leave no key behind, however many',
  async () => {
    const server = await startRedis();
    const redis = new Redis(server.url);
    const fleet = await startFleet(server.url);
    // DBSIZE also counts expired keys that Redis has not collected yet.
    const liveKeys = async () => (await redis.keys('*')).length;
    try {
      const before = await liveKeys();
      const megabytes: number[] = [];
      for (let part = 0; part < PARTS; part += 1) {
        await takeTokens(fleet, Math.ceil(TOKENS / PARTS));
        megabytes.push(await memory(fleet));
      }
      const during = await liveKeys();
      await sleep(WINDOW_SECONDS * 1000);
      const after = await liveKeys();
      process.stdout.write(`${JSON.stringify({ TOKENS, keys: { before, during, after }, megabytes })}\n`);
      // Only counters of limits: a few for each client and address.
      expect(during - before).toBeLessThan(20);
      // The document with the last uses of the secrets may have been created meanwhile.
      expect(after - before).toBeLessThanOrEqual(1);
      // A heap grows until garbage collection runs; a leak continues to grow.
      const [early, late] = [megabytes.slice(0, PARTS / 2), megabytes.slice(PARTS / 2)];
      expect(Math.max(...late)).toBeLessThan(Math.max(...early) * 1.1);
    } finally {
      redis.disconnect();
      await fleet.stop();
      await server.stop();
    }
  },
  300_000 + TOKENS * 10,
);
