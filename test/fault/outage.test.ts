// Redis in every kind of trouble, seen over HTTP: requests that need state get 503 with Retry-After within a second, all others
// work, and everything works within two seconds of the end of the trouble, without a restart.
import { beforeEach, describe, expect, it } from 'vitest';
import { introspection, revoke } from '../world/presented-tokens.ts';
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
import { type OutagePlace, expectLoggedOnce, PASSWORD, useOutagePlace } from './outage-place.ts';
import { readiness } from '../world/requests.ts';

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

it.each(OUTAGES)(
  'while Redis is %s: 503 in time where state is needed, the rest goes on, and back in time',
  async (_, fault) => {
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
  },
);

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

it("RD-14: while Redis is dead, 503 comes at once: nobody waits for an answer that can't come", async () => {
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
  });
});
