// RD-12, RD-34: what is left behind. Machine tokens leave no key; sign-ins leave exactly what is alive of them, and then nothing;
// and the processes don't grow. POSTERN_CHAOS_TOKENS and POSTERN_CHAOS_SIGN_INS say how many; 20,000 and 200 when they don't.
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openAdministration } from '../../src/store/administration.ts';
import { type RedisServer, startRedis } from '../servers.ts';
import { Browser } from '../world/browser.ts';
import {
  AUTHORIZATION_REQUEST,
  basic,
  DEFAULT_SCOPE,
  finishPages,
  post,
  refresh,
  VERIFIER,
} from '../world/flows.ts';
import type { World } from '../world/world.ts';
import { type Fleet, startFleet } from './fleet.ts';

const TOKENS = Number(process.env['POSTERN_CHAOS_TOKENS'] ?? 20_000);
const SIGN_INS = Number(process.env['POSTERN_CHAOS_SIGN_INS'] ?? 200);
/** Of whatever a sign-in leaves, but for the marks of sessions that ended in it. */
const LIFE_SECONDS = 240;
/** Nobody could come back with the session of before a sign-in for longer. */
const MARK_SECONDS = 3600;
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

type Span = { readonly began: number; readonly ended: number };

const REQUEST = { ...AUTHORIZATION_REQUEST, scope: DEFAULT_SCOPE, prompt: 'consent' };

/** A person in a browser of their own, who signs in and consents; the app uses the code and then its refresh token. */
async function signIn(world: World): Promise<Span> {
  const began = performance.now();
  const browser = new Browser(world.issuer, world.base);
  const first = await browser.open(
    `${world.issuer}/oauth/authorize?${new URLSearchParams(REQUEST).toString()}`,
  );
  const { url } = await finishPages(browser, first, 'alice');
  const exchange = {
    grant_type: 'authorization_code',
    code: new URL(url).searchParams.get('code') ?? '',
    redirect_uri: REQUEST.redirect_uri,
    code_verifier: VERIFIER,
  };
  const { body } = await post(world, '/oauth/token', exchange, { authorization: basic('web') });
  const refreshed = await refresh(world, String(body['refresh_token']));
  expect(refreshed.status).toBe(200);
  return { began, ended: performance.now() };
}

/** What lives so long after a sign-in: how many there are at least, and at most, in a count that takes a while. */
function aliveOf(signIns: readonly Span[], seconds: number, count: Span) {
  // A time to live is rounded up to a second.
  const [sure, possible] = [count.ended - seconds * 1000, count.began - (seconds + 1) * 1000];
  return {
    least: signIns.filter(({ began }) => began > sure).length,
    most: signIns.filter(({ ended }) => ended > possible).length,
  };
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
    const signIns: Span[] = [];
    for (let part = 0; part < PARTS; part += 1) {
      await times(Math.ceil(SIGN_INS / PARTS), async (world) => signIns.push(await signIn(world)));
      say({ 'sign-ins': signIns.length, keys: await redis.dbsize(), 'MB of all nodes': await memory() });
    }
    const seconds = Math.round((performance.now() - began) / 1000);
    await sleep(WINDOW_SECONDS * 1000);
    const counting = performance.now();
    const alive = await countKinds();
    const count = { began: counting, ended: performance.now() };
    const [own, marks] = [aliveOf(signIns, LIFE_SECONDS, count), aliveOf(signIns, MARK_SECONDS, count)];
    say({ 'sign-ins': signIns.length, seconds, alive, expected: { own, marks } });
    const expectAlive = (kind: string, least: number, most: number) => {
      expect(alive[kind] ?? 0, kind).toBeGreaterThanOrEqual(least);
      expect(alive[kind] ?? 0, kind).toBeLessThanOrEqual(most);
    };
    for (const kind of ['alias', 'Grant', 'grant index']) expectAlive(kind, own.least, own.most);
    // Two of each: the used one is kept, so that a second use is noticed.
    expectAlive('RefreshToken', 2 * own.least, 2 * own.most);
    // Those of the people, and the marks of those that ended when their browsers signed in.
    expectAlive('Session', own.least + marks.least, own.most + marks.most);
    for (const gone of ['AuthorizationCode', 'AccessToken', 'Interaction', 'InteractionEnd', 'tombstone']) {
      expect([gone, alive[gone] ?? 0]).toEqual([gone, 0]);
    }

    await sleep((LIFE_SECONDS + 2) * 1000);
    const recounting = performance.now();
    const left = (await redis.keys('postern:record:Session:*')).length;
    const after = await redis.dbsize();
    const late = aliveOf(signIns, MARK_SECONDS, { began: recounting, ended: performance.now() });
    say({ keys: { before, after, marks: left }, expected: late });
    // Else one document (the last uses of secrets) and one counter of the person (known browsers, 90 days), however often
    // they sign in.
    expect(left).toBeGreaterThanOrEqual(late.least);
    expect(left).toBeLessThanOrEqual(late.most);
    expect(after - before - left).toBeLessThanOrEqual(2);
  },
  (LIFE_SECONDS + WINDOW_SECONDS) * 1000 + SIGN_INS * 500 + 120_000,
);
