// RD-12, RD-34: what is left behind. Machine tokens leave no key; sign-ins leave exactly what is alive of them, and then nothing;
// and the processes don't grow. POSTERN_CHAOS_TOKENS and POSTERN_CHAOS_SIGN_INS say how many; 100,000 and 200 when they don't; 1000000 and 200000 are
// the full figures, which take hours.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type RedisServer, startRedis } from '../world/servers.ts';
import { type Fleet, startFleet } from './fleet.ts';

const TOKENS = Number(process.env['POSTERN_CHAOS_TOKENS'] ?? 100_000);
const SIGN_INS = Number(process.env['POSTERN_CHAOS_SIGN_INS'] ?? 200);
/** Of whatever a sign-in leaves, but for the marks of sessions that ended in it. */
const LIFE_SECONDS = 240;
/** Nobody could come back with the session of before a sign-in for longer. */
const MARK_SECONDS = 3600;
/** The longest window of a limit, and how long a sign-in that is over is remembered. */
const WINDOW_SECONDS = 61;
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

/** In epoch milliseconds. */
type Span = { readonly began: number; readonly ended: number };
/** One that a 503 or a 429 broke off may have left something. */
type Done = Span & { readonly isWhole: boolean };

/** So many of them on all nodes, by a process of its own; when each was done. */
async function many(what: 'tokens' | 'sign-ins', count: number): Promise<readonly Done[]> {
  const places = fleet.worlds.flatMap(({ issuer, base }) => [issuer, base]);
  const args = ['--no-warnings', 'test/chaos/many.ts', what, String(count), ...places];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  const spans: Done[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    const [began, end, outcome] = line.split(' ');
    spans.push({ began: Number(began), ended: Number(end), isWhole: outcome === 'done' });
  }
  const [code] = (await ended) as [number];
  expect([code, spans.length]).toEqual([0, count]);
  return spans;
}

/** What lives that long after a sign-in: how many there are at least, and at most, in a count that takes a while. */
function aliveOf(signIns: readonly Done[], seconds: number, count: Span) {
  // A time to live is rounded up to a second.
  const [sure, possible] = [count.ended - seconds * 1000, count.began - (seconds + 1) * 1000];
  return {
    least: signIns.filter(({ began, isWhole }) => isWhole && began > sure).length,
    most: signIns.filter(({ ended }) => ended > possible).length,
  };
}

/** What Redis has not collected yet, DBSIZE counts too. */
const liveKeys = async (pattern: string) => (await redis.keys(pattern)).length;

/** `postern:record:Session:…` is a Session; `postern:{grant:…}:dead` a tombstone. */
function kindOf(key: string): string {
  if (key.endsWith('}:index')) return 'grant index';
  if (key.endsWith('}:dead')) return 'tombstone';
  const [, what = '', kind = ''] = key.split(':');
  return what === 'record' ? kind : what;
}

/** How many of each kind there are. */
async function countKinds(): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  for (const key of await redis.keys('postern:*')) {
    const kind = kindOf(key);
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
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
    const before = await liveKeys('*');
    const began = performance.now();
    const megabytes: number[] = [];
    for (let part = 0; part < PARTS; part += 1) {
      await many('tokens', Math.ceil(TOKENS / PARTS));
      megabytes.push(await memory());
      say({ tokens: ((part + 1) * TOKENS) / PARTS, 'MB of all nodes': megabytes.at(-1) });
    }
    const during = await liveKeys('*');
    await sleep(WINDOW_SECONDS * 1000);
    const after = await liveKeys('*');
    const seconds = Math.round((performance.now() - began) / 1000) - WINDOW_SECONDS;
    say({ tokens: TOKENS, seconds, keys: { before, during, after }, 'MB of all nodes': megabytes });
    // Counters of limits only: a few for each client and address.
    expect(during - before).toBeLessThan(20);
    // The last uses of the secrets are a document that may have been made meanwhile.
    expect(after - before).toBeLessThanOrEqual(1);
    // Heaps grow until there is a reason to clean up; what leaks goes on growing.
    const [early, late] = [megabytes.slice(0, PARTS / 2), megabytes.slice(PARTS / 2)];
    expect(Math.max(...late)).toBeLessThan(Math.max(...early) * 1.1);
  },
  300_000 + TOKENS * 10,
);

it(
  'RD-12: sign-ins leave what is alive of them, and nothing when it has ended',
  async () => {
    const before = await liveKeys('*');
    const began = performance.now();
    const signIns: Done[] = [];
    for (let part = 0; part < PARTS; part += 1) {
      signIns.push(...(await many('sign-ins', Math.ceil(SIGN_INS / PARTS))));
      say({ 'sign-ins': signIns.length, keys: await redis.dbsize(), 'MB of all nodes': await memory() });
    }
    const seconds = Math.round((performance.now() - began) / 1000);
    await sleep(WINDOW_SECONDS * 1000);
    const counting = Date.now();
    const alive = await countKinds();
    const count = { began: counting, ended: Date.now() };
    const [own, marks] = [aliveOf(signIns, LIFE_SECONDS, count), aliveOf(signIns, MARK_SECONDS, count)];
    const whole = signIns.filter(({ isWhole }) => isWhole).length;
    say({
      'sign-ins': whole,
      'broken off': signIns.length - whole,
      seconds,
      alive,
      expected: { own, marks },
    });
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
    const recounting = Date.now();
    const left = await liveKeys('postern:record:Session:*');
    const after = await liveKeys('*');
    const late = aliveOf(signIns, MARK_SECONDS, { began: recounting, ended: Date.now() });
    say({ keys: { before, after, marks: left }, expected: late });
    // Else one document (the last uses of secrets) and one counter of the person (known browsers, 90 days), however often
    // they sign in.
    expect(left).toBeGreaterThanOrEqual(late.least);
    expect(left).toBeLessThanOrEqual(late.most);
    expect(after - before - left).toBeLessThanOrEqual(2);
  },
  (LIFE_SECONDS + WINDOW_SECONDS) * 1000 + SIGN_INS * 500 + 120_000,
);
