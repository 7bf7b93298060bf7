// RD-12, RD-34: what is left behind. Machine tokens leave no key; sign-ins leave exactly what is alive of them, and then nothing;
// and the processes don't grow. POSTERN_CHAOS_TOKENS and POSTERN_CHAOS_SIGN_INS say how many; 20,000 and 200 when they don't.
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openAdministration } from '../../src/store/administration.ts';
import { type RedisServer, startRedis } from '../servers.ts';
import { authorize, basic, post, redeem, refresh } from '../world/flows.ts';
import type { World } from '../world/world.ts';
import { type Fleet, startFleet } from './fleet.ts';

const TOKENS = Number(process.env['POSTERN_CHAOS_TOKENS'] ?? 20_000);
const SIGN_INS = Number(process.env['POSTERN_CHAOS_SIGN_INS'] ?? 200);
/** Long enough for all of them to be made, on a slow machine too. */
const LIFE_SECONDS = 120 + Math.ceil(SIGN_INS / 4);
/** The longest window of a limit, and how long a sign-in that is over is remembered. */
const WINDOW_SECONDS = 61;
const WORKERS = 16;
const PARTS = 10;

let server: RedisServer;
let redis: Redis;
let fleet: Fleet;
beforeEach(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  const life = `${LIFE_SECONDS}s`;
  fleet = await startFleet(server.url, undefined, {
    lifetimes: {
      access_token: '60s',
      id_token: '60s',
      authorization_code: '30s',
      refresh_token: life,
      refresh_token_absolute: life,
      session: life,
      session_absolute: life,
      interaction: '1m',
    },
  });
});
afterEach(async () => {
  redis.disconnect();
  await fleet.stop();
  await server.stop();
});

/** Calls `work` so often, on all nodes in turn. */
async function times(count: number, work: (world: World) => Promise<unknown>): Promise<void> {
  let left = count;
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      const world = fleet.worlds[left % fleet.worlds.length];
      if (world !== undefined) await work(world);
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, worker));
}

async function takeToken(world: World): Promise<void> {
  const form = { grant_type: 'client_credentials', scope: 'reports.read' };
  const { status } = await post(world, '/oauth/token', form, { authorization: basic('svc') });
  expect(status).toBe(200);
}

async function signIn(world: World): Promise<void> {
  const first = await redeem(world, await authorize(world));
  const second = await refresh(world, String(first.body['refresh_token']));
  expect(second.status).toBe(200);
}

/** Counters of limits end by themselves. */
async function countKinds(): Promise<Readonly<Record<string, number>>> {
  const administration = await openAdministration({ engine: 'redis', url: server.url });
  const { counts } = await administration.stats();
  await administration.close();
  return counts;
}

/** Of all nodes, in MB. */
async function memory(): Promise<number> {
  const sizes = fleet.nodes.map(async ({ process: { pid } }) => {
    const status = await readFile(`/proc/${pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
  });
  return Math.round((await Promise.all(sizes)).reduce((sum, size) => sum + size, 0));
}

const say = (facts: object) => process.stdout.write(`${JSON.stringify(facts)}\n`);

it(
  'RD-34: machine tokens leave no key behind, however many',
  async () => {
    const before = await redis.dbsize();
    const began = performance.now();
    const megabytes: number[] = [];
    for (let part = 0; part < PARTS; part += 1) {
      await times(Math.ceil(TOKENS / PARTS), takeToken);
      megabytes.push(await memory());
    }
    const during = await redis.dbsize();
    await sleep(WINDOW_SECONDS * 1000);
    const after = await redis.dbsize();
    const seconds = Math.round((performance.now() - began) / 1000) - WINDOW_SECONDS;
    say({ tokens: TOKENS, seconds, keys: { before, during, after }, 'MB of all nodes': megabytes });
    // Counters of limits only: a few for each client and address.
    expect(during - before).toBeLessThan(20);
    // The last uses of the secrets are a document that may have been made meanwhile.
    expect(after - before).toBeLessThanOrEqual(1);
    // Heaps grow until there is a reason to clean up; what leaks goes on growing.
    const [early, late] = [megabytes.slice(0, PARTS / 2), megabytes.slice(PARTS / 2)];
    if (TOKENS >= 100_000) expect(Math.max(...late)).toBeLessThan(Math.max(...early) * 1.1);
  },
  300_000 + TOKENS * 10,
);

it(
  'RD-12: sign-ins leave what is alive of them, and nothing when it has ended',
  async () => {
    const before = await redis.dbsize();
    const began = performance.now();
    await times(SIGN_INS, signIn);
    const seconds = Math.round((performance.now() - began) / 1000);
    await sleep(WINDOW_SECONDS * 1000);
    const alive = await countKinds();
    // Two refresh tokens: the used one is kept, so that a second use is noticed.
    expect(alive).toMatchObject({
      // Those of the people, and the marks of those that ended when their browsers signed in.
      Session: 2 * SIGN_INS,
      alias: SIGN_INS,
      Grant: SIGN_INS,
      RefreshToken: 2 * SIGN_INS,
      'grant index': SIGN_INS,
    });
    for (const gone of ['AuthorizationCode', 'AccessToken', 'Interaction', 'InteractionEnd', 'tombstone']) {
      expect([gone, alive[gone] ?? 0]).toEqual([gone, 0]);
    }
    await sleep(LIFE_SECONDS * 1000);
    const after = await redis.dbsize();
    const marks = await redis.keys('postern:record:Session:*');
    const longest = Math.max(...(await Promise.all(marks.map((mark) => redis.pttl(mark)))));
    say({ 'sign-ins': SIGN_INS, seconds, alive, keys: { before, after, marks: marks.length } });
    // The marks stay for an hour at most. Else one document (the last uses of secrets) and one counter of the person (known
    // browsers, 90 days), however often they sign in.
    expect(marks.length).toBe(SIGN_INS);
    expect(longest).toBeLessThanOrEqual(3600 * 1000);
    expect(after - before - marks.length).toBeLessThanOrEqual(2);
  },
  (LIFE_SECONDS + WINDOW_SECONDS) * 1000 + SIGN_INS * 500 + 120_000,
);
