// Redis in every kind of trouble, seen over HTTP: 503 with Retry-After within a second where state is needed, the rest goes
// on, and all is well within two seconds of its end, without a restart and without anything that was put off.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Redis } from 'ioredis';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { type RedisServer, startRedis } from '../servers.ts';
import {
  authorize,
  type Answer,
  introspect,
  machineToken,
  redeem,
  refresh,
  signIn,
  type SignedIn,
} from '../world/flows.ts';
import { startWorld, type World } from '../world/world.ts';
import {
  DEADLINE_MS,
  expectStateless,
  expectUnavailable,
  introspection,
  readiness,
  RECOVERY_MS,
  revoke,
  stateful,
  timed,
  untilActive,
} from './asking.ts';
import { type FaultProxy, startProxy } from './proxy.ts';

const PASSWORD = 'the-store-password';
const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always'];

let server: RedisServer;
let proxy: FaultProxy;
let world: World;
let raw: Redis;
let person: SignedIn;
let machine: string;

beforeEach(async () => {
  server = await startRedis({ password: PASSWORD, settings: DURABLE });
  proxy = await startProxy(server.port);
  world = await startWorld({ store: `redis://:${PASSWORD}@127.0.0.1:${proxy.port}` });
  raw = new Redis(server.url, { retryStrategy: () => 20, maxRetriesPerRequest: null });
  raw.on('error', () => undefined);
  person = await signIn(world);
  machine = await machineToken(world, 'reports.read');
  return async () => {
    server.resume();
    raw.disconnect();
    await world.stop();
    await proxy.close();
    await server.stop();
  };
});

type Fault = { readonly begin: () => unknown; readonly end: () => unknown };

const OUTAGES: readonly (readonly [string, Fault])[] = [
  ['frozen (RD-13)', { begin: () => server.pause(), end: () => server.resume() }],
  ['dead (RD-14)', { begin: () => server.kill(), end: () => server.restart() }],
  ['slow (RD-15)', { begin: () => proxy.delay(500), end: () => proxy.heal() }],
  ['cut off', { begin: () => proxy.isolate(), end: () => proxy.heal() }],
  [
    'not to be entered with our password any more (RD-26)',
    {
      begin: async () => {
        await raw.config('SET', 'requirepass', 'another-one');
        await raw.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      },
      end: () => raw.config('SET', 'requirepass', PASSWORD),
    },
  ],
];

describe('while Redis is', () => {
  it.each(OUTAGES)(
    '%s: 503 in time where state is needed, the rest goes on, and back in time',
    async (_, fault) => {
      await fault.begin();
      for (const [name, ask] of Object.entries(stateful(world, person, machine))) {
        const result = await timed(ask());
        expect([name, result.answer.status]).toEqual([name, 503]);
        expectUnavailable(result);
      }
      await expectStateless(world);
      const { status, problems, ms } = await readiness(world);
      expect([status, problems]).toEqual([503, ['the store can not be reached']]);
      expect(ms).toBeLessThan(DEADLINE_MS);
      expect(JSON.stringify(problems)).not.toContain(PASSWORD);

      await fault.end();
      expect(await untilActive(world, person.tokens.access_token)).toBeLessThan(RECOVERY_MS);
      expect(await introspection(world, machine)).toMatchObject({ body: { active: true } });
      // Neither the refresh token nor any grant was used up or revoked by what was asked in vain.
      expect((await refresh(world, person.tokens.refresh_token)).status).toBe(200);
      expect((await readiness(world)).status).toBe(200);
      await signIn(world);
    },
  );
});

describe('while Redis refuses to write', () => {
  it.each<readonly [string, Fault]>([
    [
      'because it is full',
      {
        begin: () => raw.config('SET', 'maxmemory', '1'),
        end: () => raw.config('SET', 'maxmemory', '0'),
      },
    ],
    [
      'because it was demoted (RD-25)',
      { begin: () => raw.replicaof('127.0.0.1', '1'), end: () => raw.replicaof('NO', 'ONE') },
    ],
    [
      'because its disk or its replicas fail',
      {
        begin: () => raw.config('SET', 'min-replicas-to-write', '1'),
        end: () => raw.config('SET', 'min-replicas-to-write', '0'),
      },
    ],
  ])('%s: nothing is used up, revoked or issued, and it is back in time', async (_, fault) => {
    const pending = await authorize(world);
    await fault.begin();
    expectUnavailable(await timed(redeem(world, pending)));
    expectUnavailable(await timed(refresh(world, person.tokens.refresh_token)));
    expectUnavailable(await timed(revoke(world, person.tokens.access_token)));
    await expectStateless(world);
    await fault.end();
    await untilActive(world, person.tokens.access_token);
    expect((await refresh(world, person.tokens.refresh_token)).status).toBe(200);
    expect((await redeem(world, pending)).status).toBe(200);
  });

  it('RD-25: reads nothing from a master that was demoted, once it has said so', async () => {
    await raw.replicaof('127.0.0.1', '1');
    expectUnavailable(await timed(revoke(world, person.tokens.access_token)));
    expectUnavailable(await timed(introspection(world, person.tokens.access_token)));
    expect((await readiness(world)).problems).toEqual([
      expect.stringMatching(/^the store (can not be reached|is not safe: it is a slave)/),
    ]);
  });
});

describe('an outage', () => {
  it('IS-22, IS-31: what was asked in vain is not done later', async () => {
    server.pause();
    // Learns that nobody answers; from here on nothing is sent.
    expectUnavailable(await timed(introspection(world, machine)));
    expectUnavailable(await timed(revoke(world, person.tokens.refresh_token)));
    expectUnavailable(await timed(revoke(world, person.tokens.access_token)));
    expectUnavailable(await timed(refresh(world, person.tokens.refresh_token)));
    server.resume();
    await untilActive(world, person.tokens.access_token);
    expect((await refresh(world, person.tokens.refresh_token)).status).toBe(200);
    expect((await revoke(world, person.tokens.access_token)).status).toBe(200);
    expect(await introspect(world, person.tokens.access_token)).toEqual({ active: false });
  });

  it('LO-12: never says "signed out" when it can not know, and the session is there afterwards', async () => {
    const ask = await person.browser.open(`${world.issuer}/oauth/logout`);
    server.pause();
    const began = performance.now();
    const page = await person.browser.submit(ask, '/oauth/logout/confirm', { logout: 'yes' });
    expect(performance.now() - began).toBeLessThan(DEADLINE_MS);
    expect(page.status).toBe(503);
    expect(page.text).not.toMatch(/signed out/i);
    server.resume();
    await untilActive(world, person.tokens.access_token);
    // The session lives: no password is asked for.
    const again = await person.browser.open(`${world.issuer}/oauth/logout`);
    expect((await person.browser.submit(again, '/oauth/logout/confirm', { logout: 'yes' })).status).toBe(200);
  });

  it('RD-15: a thousand requests at once wait in no queue, and the process stays awake', async () => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    proxy.delay(500);
    await timed(introspection(world, machine));
    const lag = monitorEventLoopDelay({ resolution: 5 });
    lag.enable();
    for (let round = 0; round < 20; round += 1) {
      const results = await Promise.all(
        Array.from({ length: 50 }, () => timed(introspection(world, machine))),
      );
      results.forEach(expectUnavailable);
    }
    lag.disable();
    expect(lag.percentile(95) / 1e6).toBeLessThan(100);
    expect(proxy.connections()).toBeLessThanOrEqual(2);
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });

  it('RD-15: with lost packets every answer is right or 503, and in time', async () => {
    proxy.lose(0.05, 250);
    const statuses = new Set<number>();
    const until = Date.now() + 10_000;
    // One late answer opens the breaker for a while, so a few quick rounds may all fall into it.
    for (let round = 0; round < 40 || (!statuses.has(200) && Date.now() < until); round += 1) {
      const { answer, ms } = await timed(introspection(world, person.tokens.access_token));
      statuses.add(answer.status);
      expect(ms).toBeLessThan(DEADLINE_MS);
      if (answer.status === 200) expect(answer.body).toMatchObject({ active: true });
      else expect(answer.status).toBe(503);
    }
    expect(statuses).toContain(200);
  });

  it('RD-16: a code whose use was not answered is spent, and no token comes of it', async () => {
    const pending = await authorize(world);
    let answer: Answer | undefined;
    // Loses the answer to a later and later question, until the exchange gets through.
    for (let after = 0; after < 30 && answer?.status !== 200; after += 1) {
      const code = answer === undefined ? pending : await authorize(world);
      proxy.swallowAnswers(after);
      const first = await timed(redeem(world, code));
      proxy.heal();
      await untilReady();
      answer = first.answer;
      if (answer.status === 200) break;
      expectUnavailable(first);
      const second = await redeem(world, code);
      // Either it was lost before the code was used up, or it is spent; never twice.
      expect(second.status).toBeOneOf([200, 400]);
      expect((await redeem(world, code)).status).toBe(400);
    }
    expect(answer?.status).toBe(200);
  }, 60_000);

  it('RD-10, RT-15: a revocation that is cut anywhere is done or answered with 503, and may be repeated', async () => {
    for (let requests = 0; requests < 8; requests += 1) {
      const { tokens } = await signIn(world);
      await refresh(world, tokens.refresh_token);
      proxy.cutAfter(requests);
      // The second use of a refresh token, which revokes the family, and the endpoint, in turn.
      const isReuse = requests % 2 === 0;
      const ask = () => (isReuse ? refresh(world, tokens.refresh_token) : revoke(world, tokens.access_token));
      const done = isReuse ? 400 : 200;
      const first = await timed(ask());
      if (first.answer.status !== done) expectUnavailable(first);
      proxy.heal();
      await untilReady();
      if (first.answer.status === done)
        expect(await introspect(world, tokens.access_token)).toEqual({ active: false });
      expect((await ask()).status).toBe(done);
      expect(await introspect(world, tokens.access_token)).toEqual({ active: false });
    }
  }, 60_000);
});

describe('a Redis that is not safe', () => {
  it('RD-22: is told at /readyz, with the setting, as soon as it begins to throw keys away', async () => {
    await raw.config('SET', 'maxmemory-policy', 'allkeys-lru');
    expect(await readiness(world)).toMatchObject({
      status: 503,
      problems: [
        'the store is not safe: its maxmemory-policy is allkeys-lru, which throws tokens away; it must be noeviction',
      ],
    });
    await raw.config('SET', 'maxmemory-policy', 'noeviction');
    expect((await readiness(world)).status).toBe(200);
  });

  it('RD-22, RD-26: is not started on, and the reason names the setting and no password', async () => {
    const start = () => startWorld({ store: `redis://:${PASSWORD}@127.0.0.1:${server.port}` });
    await raw.config('SET', 'maxmemory-policy', 'volatile-lru');
    await expect(start()).rejects.toThrow(
      /^the store at redis:\/\/127\.0\.0\.1:\d+ can not be used: its maxmemory-policy is volatile-lru/,
    );
    await raw.config('SET', 'maxmemory-policy', 'noeviction');
    await raw.replicaof('127.0.0.1', '1');
    await expect(start()).rejects.toThrow(/it is a slave, not the master$/);
    await raw.replicaof('NO', 'ONE');
    await expect(startWorld({ store: `redis://:wrong-one@127.0.0.1:${server.port}` })).rejects.toThrow(
      /^the store at redis:\/\/127\.0\.0\.1:\d+ can not be used: WRONGPASS (?!.*wrong-one)/,
    );
  });

  it('RD-26: is not ready for a user who may not read our keys', async () => {
    await raw.acl('SETUSER', 'postern', 'on', '>pw', '~other:*', '+@all');
    const url = `redis://postern:pw@127.0.0.1:${server.port}`;
    await expect(startWorld({ store: url })).rejects.toThrow(/NOPERM|not be reached/);
  });
});

async function untilReady(): Promise<void> {
  await vi.waitFor(async () => expect((await readiness(world)).status).toBe(200), {
    timeout: RECOVERY_MS,
    interval: 20,
  });
}
