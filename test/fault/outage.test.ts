// Redis in every kind of trouble, seen over HTTP: requests that need state get 503 with Retry-After within a second, all others
// work, and everything works within two seconds of the end of the trouble, without a restart. Afterwards no failed request takes
// effect later, no interrupted request is half done, nothing works twice, and nothing queued up meanwhile.
import { beforeEach, describe, expect, it } from 'vitest';
import { introspect, introspection, revoke } from '../world/presented-tokens.ts';
import { redeem, refresh } from '../world/token-endpoint.ts';
import {
  DEADLINE_MS,
  expectStateless,
  expectUnavailable,
  RECOVERY_MS,
  stateful,
  timed,
  timedReadiness,
  untilActive,
  untilAuthorized,
  untilSignedIn,
} from './asking.ts';
import { type OutagePlace, expectLoggedOnce, PASSWORD, untilReady, useOutagePlace } from './outage-place.ts';
import { signOut } from '../world/person.ts';
import { type Answer, readiness } from '../world/requests.ts';

const place = useOutagePlace();
let server: OutagePlace['server'];
let proxy: OutagePlace['proxy'];
let world: OutagePlace['world'];
let raw: OutagePlace['raw'];
let person: ReturnType<typeof place>['person'];
let machine: string;
beforeEach(() => {
  ({ server, proxy, world, raw, person, machine } = place());
});

type Fault = { readonly begin: () => unknown; readonly end: () => unknown };
/** `reason`: its text in readiness and the log. `isReached`: Redis may execute a command, but the answer comes too late. */
type Outage = Fault & { readonly reason: RegExp; readonly isReached?: true };

const SILENT = /^can't reach the store: no answer in time$/;
const OUTAGES: readonly (readonly [string, Outage])[] = [
  ['frozen (RD-13)', { reason: SILENT, begin: () => server.pause(), end: () => server.resume() }],
  [
    'dead (RD-14)',
    {
      reason: /^can't reach the store: (connect ECONNREFUSED|its master is not connected)/,
      // The proxy would accept connections in its place.
      begin: async () => {
        await server.kill();
        await proxy.refuse();
      },
      end: async () => {
        await server.restart();
        await proxy.accept();
      },
    },
  ],
  [
    'slow (RD-15)',
    { reason: SILENT, isReached: true, begin: () => proxy.delay(500), end: () => proxy.heal() },
  ],
  ['cut off', { reason: /^can't reach the store: /, begin: () => proxy.isolate(), end: () => proxy.heal() }],
  [
    'not to be entered with our password any more (RD-26)',
    {
      reason: /^(the store returned an error: WRONGPASS |can't reach the store: its master is not connected)/,
      begin: async () => {
        await raw.config('SET', 'requirepass', 'another-one');
        await raw.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      },
      end: () => raw.config('SET', 'requirepass', PASSWORD),
    },
  ],
];

it.each(OUTAGES)('while Redis is %s: 503 in time where needed, then recovers', async (_, fault) => {
  await fault.begin();
  for (const [name, ask] of Object.entries(stateful(world, person, machine))) {
    const result = await timed(ask());
    expect([name, result.answer.status]).toEqual([name, 503]);
    expectUnavailable(result);
  }
  await expectStateless(world);
  const { status, problems, ms } = await timedReadiness(world);
  expect([status, problems]).toEqual([503, [expect.stringMatching(fault.reason)]]);
  expect(ms).toBeLessThan(DEADLINE_MS);
  expect(JSON.stringify(problems)).not.toContain(PASSWORD);

  await fault.end();
  if (fault.isReached !== true) {
    expect(await untilActive(world, person.tokens.access_token)).toBeLessThan(RECOVERY_MS);
    expect(await introspection(world, machine)).toMatchObject({ body: { active: true } });
    // The failed requests neither used up the refresh token nor revoked any grant.
    expect((await refresh(world, person.tokens.refresh_token)).status).toBe(200);
  }
  await expect.poll(async () => (await readiness(world)).status, { timeout: RECOVERY_MS }).toBe(200);
  await untilSignedIn(world);
  expectLoggedOnce(place(), fault.reason);
});

it('RD-13: a frozen Redis gives no answer in time, also once its connection is given up', async () => {
  server.pause();
  const reasons = new Set<string>();
  // The client gives a connection up after a second without a byte, and tries a new one.
  const until = performance.now() + 3500;
  while (performance.now() < until) {
    for (const problem of (await readiness(world)).problems) reasons.add(problem);
  }
  server.resume();
  expect([...reasons]).toEqual(["can't reach the store: no answer in time"]);
});

it('RD-14: while Redis is dead, 503 comes at once', async () => {
  await server.kill();
  await proxy.refuse();
  expectUnavailable(await timed(introspection(world, machine)));
  const times: number[] = [];
  for (let round = 0; round < 20; round += 1) {
    const result = await timed(introspection(world, machine));
    expectUnavailable(result);
    times.push(result.ms);
  }
  // A built-in wait would show in each of them; a busy machine doesn't.
  expect(Math.min(...times)).toBeLessThan(50);
  await server.restart();
  await proxy.accept();
  expect(await untilActive(world, person.tokens.access_token)).toBeLessThan(RECOVERY_MS);
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
    const pending = await untilAuthorized(world);
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
      expect.stringMatching(/^the store (is unsafe: it is a slave|returned an error: READONLY)/),
    ]);
    await raw.replicaof('NO', 'ONE');
  });
});

describe('an outage', () => {
  it('IS-22, IS-31: what was asked in vain is not done later', async () => {
    server.pause();
    // Here the service notices that Redis doesn't answer; it sends nothing from now on.
    expectUnavailable(await timed(introspection(world, person.tokens.access_token)));
    expectUnavailable(await timed(revoke(world, person.tokens.refresh_token)));
    expectUnavailable(await timed(revoke(world, person.tokens.access_token)));
    expectUnavailable(await timed(refresh(world, person.tokens.refresh_token)));
    server.resume();
    await untilActive(world, person.tokens.access_token);
    expect((await refresh(world, person.tokens.refresh_token)).status).toBe(200);
    expect((await revoke(world, person.tokens.access_token)).status).toBe(200);
    expect(await introspect(world, person.tokens.access_token)).toEqual({ active: false });
  });

  it('LO-12: never says "signed out" when it can\'t know, and the session is there afterwards', async () => {
    const ask = await person.browser.open(`${world.issuer}/oauth/logout`);
    server.pause();
    const began = performance.now();
    const page = await person.browser.submit(ask, '/oauth/logout/confirm', { logout: 'yes' });
    expect(performance.now() - began).toBeLessThan(DEADLINE_MS);
    expect(page.status).toBe(503);
    expect(page.text).not.toMatch(/signed out/i);
    expect(page.text).toContain('you may still be signed in');
    server.resume();
    await untilActive(world, person.tokens.access_token);
    // The session is still valid: the service asks for no password.
    expect((await signOut(world, person.browser)).status).toBe(200);
  });

  it('RD-15: with lost packets every answer is right or 503, in time, and many are right', async () => {
    const lateMs = 250;
    proxy.lose(0.05, lateMs);
    let [right, late] = [0, 0];
    // A late answer makes the service reconnect, so a few quick rounds may all fall into that time.
    while (right < 40 || late === 0) {
      const { answer, ms } = await timed(introspection(world, person.tokens.access_token));
      expect(ms).toBeLessThan(DEADLINE_MS);
      if (ms >= lateMs) late += 1;
      if (answer.status === 200) {
        right += 1;
        expect(answer.body).toMatchObject({ active: true });
      } else expect(answer.status).toBe(503);
    }
  });

  it('RD-16: a code whose exchange is cut off anywhere works once at most, and from some question on it is spent', async () => {
    const seconds: number[] = [];
    let answer: Answer | undefined;
    // Loses the answer to a later command each time, until the exchange succeeds.
    for (let after = 0; after < 30 && answer?.status !== 200; after += 1) {
      const code = await untilAuthorized(world);
      proxy.swallowAnswers(after);
      const first = await timed(redeem(world, code));
      proxy.heal();
      await untilReady(world);
      answer = first.answer;
      if (answer.status === 200) break;
      expectUnavailable(first);
      seconds.push((await redeem(world, code)).status);
      expect((await redeem(world, code)).status).toBe(400);
    }
    expect(answer?.status).toBe(200);
    // Either the command was lost before the code was used up, or the code is used up; both happened.
    expect(new Set(seconds)).toEqual(new Set([200, 400]));
  });

  it('RD-10, RT-15: a revocation that is cut anywhere is done or answered with 503, and dead from its tombstone on', async () => {
    const deadWithoutRepeat: boolean[] = [];
    for (let round = 0; round < 16; round += 1) {
      const { tokens } = await untilSignedIn(world);
      await refresh(world, tokens.refresh_token);
      // Alternates between the second use of a refresh token, which revokes the family, and the revocation endpoint.
      const isReuse = round % 2 === 0;
      const ask = () => (isReuse ? refresh(world, tokens.refresh_token) : revoke(world, tokens.access_token));
      const done = isReuse ? 400 : 200;
      proxy.cutAfter(Math.floor(round / 2));
      const first = await timed(ask());
      proxy.heal();
      await untilReady(world);
      const { active } = await introspect(world, tokens.access_token);
      if (first.answer.status === done) expect(active).toBe(false);
      else {
        expectUnavailable(first);
        deadWithoutRepeat.push(active === false);
      }
      expect((await ask()).status).toBe(done);
      expect(await introspect(world, tokens.access_token)).toEqual({ active: false });
    }
    // Cut both before and after the tombstone was written.
    expect(new Set(deadWithoutRepeat)).toEqual(new Set([false, true]));
  });
});
