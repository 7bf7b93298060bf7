// Apps that don't accept their logout token: slow, broken, gone, or at a forbidden address. The user never waits, and the log
// names each app.
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createLogoutJobs } from '../../../src/features/back-channel-logout/sender.ts';
import type { OutgoingAnswer } from '../../../src/outgoing/guard.ts';
import { openStore } from '../../../src/store/open.ts';
import type { Store } from '../../../src/store/store.ts';
import { sidOf, type SignedIn, signIn } from '../../world/app.ts';
import type { CodeClient } from '../../world/authorization-request.ts';
import { HOUR, moveClock, standingClock, until } from '../../world/clock.ts';
import { eachStore, useWorld } from '../../world/each-store.ts';
import { startLogoutReceiver } from '../../world/logout-receiver.ts';
import { newBrowser, titleOf, signOut } from '../../world/person.ts';
import { type ServiceProcess, startProcess } from '../../world/process.ts';
import { freePort, type RedisServer, startRedis } from '../../world/servers.ts';
import { createTurns } from '../../world/turns.ts';
import { GENEROUS, type OpenWorld, PEOPLE, seedStore, writeWorldConfig } from '../../world/world.ts';
import { type FaultProxy, startProxy } from '../../world/proxy.ts';

const NOT_YET = 'could not notify an app of an ended session, will retry';
const GIVEN_UP = 'gave up notifying an app of an ended session';
const CLIENTS: readonly CodeClient[] = ['web', 'web2', 'post', 'first-party', 'spa', 'native'];

const receiver = await startLogoutReceiver();
const nowhere = `https://localhost:${await freePort()}/native`;
afterAll(() => receiver.stop());

const clients = receiver
  .clients(...CLIENTS)
  .map((client) => (client.client_id === 'native' ? { ...client, backchannel_logout_uri: nowhere } : client));

/** Returns the log entries about apps, sorted by client. */
const logged = ({ recorded }: OpenWorld, words: string) =>
  recorded.log
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
    .filter(({ msg }) => msg === words)
    .map(({ clientId, reason }) => `${String(clientId)}: ${String(reason)}`)
    .toSorted();

const outcomes = ({ recorded }: OpenWorld) =>
  recorded
    .audit('app_logout')
    .map(({ client_id: id, outcome, reason }) => [id, outcome, reason].filter(Boolean).join(' '))
    .toSorted();

const turns = createTurns();

const TO_RECEIVERS = {
  config: { ...GENEROUS, outgoing: receiver.outgoing, clients },
  rotationTimer: turns.timer,
};
eachStore("PR-05, LO-14: apps that don't take it", TO_RECEIVERS, (world) => {
  standingClock();
  const apps = new Map<CodeClient, SignedIn>();
  const sent = (client: CodeClient) => {
    const app = apps.get(client);
    return app === undefined ? [] : receiver.of(sidOf(app));
  };

  beforeAll(async () => {
    // The first and the last request hang.
    receiver.answer('/web', (response) => {
      const status = { 2: 429, 3: 408, 4: 500, 5: 503, 6: 500 }[sent('web').length];
      if (status !== undefined) response.writeHead(status).end();
    });
    receiver.answer('/web2', (response) => response.writeHead(500).end());
    receiver.answer('/post', (response) =>
      response.writeHead(302, { Location: `${receiver.origin}/web2` }).end(),
    );
    receiver.answer('/first-party', floodForEver);
    receiver.answer('/spa', (response) => response.destroy());
    const browser = newBrowser(world());
    for (const client of CLIENTS) {
      const scope = client === 'first-party' ? 'openid email' : 'openid';
      apps.set(client, await signIn(world(), { browser, client, scope }));
    }
    await signOut(world(), browser);
  });

  it('what may pass is tried for more than an hour, each time with a fresh token', async () => {
    const passing = [
      'native: localhost did not answer: ECONNREFUSED',
      'spa: localhost did not answer: ECONNRESET',
      'web2: it answered 500',
    ];
    const hung = 'web: localhost did not answer within 2 s';
    const answered = (status: number) => `web: it answered ${status}`;
    const begun = Date.now();
    const all: string[] = [];
    for (const [web, wait] of [
      [hung, 5],
      [answered(429), 25],
      [answered(408), 60],
      [answered(500), 300],
      [answered(503), 900],
      [answered(500), 2700],
    ] as const) {
      all.push(...passing, web);
      await until(() => expect(logged(world(), NOT_YET)).toEqual(all.toSorted()));
      const metrics = await (await fetch(`${world().management}/metrics`)).text();
      expect(metrics).toMatch(/postern_outgoing_calls\{state="failed"\} 4\n/);
      expect(metrics).toMatch(/postern_outgoing_calls\{state="waiting"\} 0\n/);
      moveClock(wait);
      await turns.turn();
    }
    const last = ['post: it answered 302', ...passing, hung].toSorted();
    await until(() => expect(logged(world(), GIVEN_UP)).toEqual(last));
    expect(Date.now() - begun).toBeGreaterThan(HOUR * 1000);
    for (const client of ['web', 'web2', 'spa'] as const) {
      const tries = sent(client);
      expect(tries).toHaveLength(7);
      expect(new Set(tries.map(({ claims }) => claims.jti)).size).toBe(7);
      for (const { at, claims } of tries) expect((claims.exp ?? 0) * 1000).toBeGreaterThan(at + 60_000);
    }
  });

  it('a redirect is not followed, and an answer without an end is an answer', () => {
    expect(sent('post')).toHaveLength(1);
    expect(sent('first-party')).toHaveLength(1);
  });

  it('then there is one record of each, and one in the metrics, and an hour later nothing more', async () => {
    const ends = [
      'first-party success',
      'native failure connection',
      'post failure status_302',
      'spa failure connection',
      'web failure timeout',
      'web2 failure status_500',
    ];
    expect(outcomes(world())).toEqual(ends);
    const metrics = await (await fetch(`${world().management}/metrics`)).text();
    expect(metrics).toContain('postern_security_events_total{event="app_logout",outcome="failure"} 5');
    expect(await world().openedStore.documents.list('logouts')).toEqual([]);
    const connections = receiver.connections();
    moveClock(HOUR);
    await turns.turn();
    receiver.answer('/web');
    const next = await signIn(world(), { scope: 'openid' });
    await signOut(world(), next.browser);
    expect(await receiver.wait(sidOf(next))).toHaveLength(1);
    expect(receiver.connections()).toBe(connections + 1);
    await until(() => expect(outcomes(world())).toEqual([...ends, 'web success'].toSorted()));
  });
});

describe('PR-05: an app that hangs', () => {
  const hang = Promise.withResolvers<OutgoingAnswer>();
  const called = Promise.withResolvers<void>();
  const world = useWorld({
    config: { ...GENEROUS, clients },
    outgoing: {
      request() {
        called.resolve();
        return hang.promise;
      },
    },
  });

  it('keeps no page waiting, however long', async () => {
    const [first, second] = [await signIn(world()), await signIn(world())];
    expect(titleOf(await signOut(world(), first.browser))).toBe('You’re signed out');
    await called.promise;
    expect(titleOf(await signOut(world(), second.browser))).toBe('You’re signed out');
    expect(outcomes(world())).toEqual([]);
    hang.resolve({ status: 200, headers: {}, body: Buffer.alloc(0) });
    await until(() => expect(outcomes(world())).toEqual(['web success', 'web success']));
  });
});

eachStore('PR-07, LO-14: a name that leads inside', { config: { ...GENEROUS, clients } }, (world) => {
  it('is not connected to, and the trail and the log have it', async () => {
    const before = receiver.connections();
    await signOut(world(), (await signIn(world(), { scope: 'openid' })).browser);
    await until(() => expect(outcomes(world())).toEqual(['web failure address']));
    expect(logged(world(), GIVEN_UP)).toEqual([
      expect.stringMatching(/^web: localhost has the address .*, which is not public$/),
    ]);
    expect(receiver.connections()).toBe(before);
  });
});

describe('LO-14, F1-01: kill -9 between a call and its answer, two processes, and a store that is away', () => {
  const running: ServiceProcess[] = [];
  let place: { folder: string; redis: RedisServer; proxy: FaultProxy; store: Store };
  const start = async (name: string) => {
    const own = path.join(place.folder, name);
    await mkdir(own, { recursive: true });
    const store = place.proxy.url;
    const issuer = 'http://localhost:3000';
    const config = { ...GENEROUS, outgoing: receiver.outgoing, clients };
    const { configFile } = await writeWorldConfig(own, { store, issuer, config }, [await freePort(), 0]);
    if (running.length === 0) await seedStore(configFile);
    const started = await startProcess(configFile, undefined, undefined, receiver.env);
    running.push(started);
    return started;
  };
  const leave = async (...sids: readonly string[]) => {
    const ended = sids.map((sid) => ({ clientId: 'web', accountId: PEOPLE.alice, sid }));
    await createLogoutJobs(place.store).add(ended);
  };
  const counts = (sids: readonly string[]) => sids.map((sid) => receiver.of(sid).length);
  const many = () => Array.from({ length: 20 }, () => randomUUID());
  /**
   * Each is told, the cut-off one again. On a busy machine also those whose try the log calls failed, and a few whose job was removed late;
   * two senders that don't agree would tell all of them twice.
   */
  const expectTold = (cutOff: string, sids: readonly string[]) => {
    const failed = running.flatMap(({ stdout, stderr }) => (stdout() + stderr()).split(NOT_YET).slice(1));
    expect(counts([cutOff])).not.toEqual([1]);
    expect(counts(sids)).not.toContain(0);
    const told = counts([cutOff, ...sids]).reduce((sum, count) => sum + count);
    expect(told).toBeLessThan(2 + sids.length * 1.25 + failed.length);
  };
  const isEmpty = () => until(async () => expect(await place.store.documents.list('logouts')).toEqual([]));

  beforeEach(async () => {
    const redis = await startRedis();
    const store = await openStore({ engine: 'redis', url: redis.url }, Date.now);
    const folder = await mkdtemp(path.join(tmpdir(), 'postern-logouts-'));
    place = { folder, redis, proxy: await startProxy(redis.port), store };
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((one) => one.end('SIGKILL')));
    await place.store.close();
    await place.proxy.close();
    await place.redis.stop();
    await rm(place.folder, { recursive: true });
  });

  it('each app hears of each end, twice of the one that was under way at the kill alone', async () => {
    const first = await start('a');
    receiver.answer('/web', () => undefined);
    const cutOff = randomUUID();
    await leave(cutOff);
    await receiver.wait(cutOff);
    await first.end('SIGKILL');
    receiver.answer('/web');
    await Promise.all([start('b'), start('c')]);
    const later = many();
    await leave(...later);
    await isEmpty();
    expectTold(cutOff, later);

    await place.proxy.refuse();
    const away = many();
    await leave(...away);
    await new Promise((resolve) => setTimeout(resolve, 10_000));
    expect(counts(away)).toEqual(away.map(() => 0));
    await place.proxy.accept();
    await isEmpty();
    expectTold(cutOff, [...later, ...away]);
  });
});

function floodForEver(response: ServerResponse): void {
  while (!response.destroyed && response.write('x'.repeat(10_000))) continue;
  if (!response.destroyed) response.once('drain', () => floodForEver(response));
}
