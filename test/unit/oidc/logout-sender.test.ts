// The outbox of logout tokens, with several processes' senders on one store.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createLogoutJobs } from '../../../src/oidc/logout-jobs.ts';
import { createLogoutSender, type LogoutSender } from '../../../src/oidc/logout-sender.ts';
import { openStore } from '../../../src/store/open.ts';
import type { Store } from '../../../src/store/store.ts';
import { until } from '../../world/clock.ts';
import { listen } from '../../world/recorded-telemetry.ts';
import { startRedis } from '../../world/servers.ts';

type Made = { readonly store: Store; stop(): Promise<void> };

const STORES: Readonly<Record<string, (now: () => number) => Promise<Made>>> = {
  async lmdb(now) {
    const folder = mkdtempSync(path.join(tmpdir(), 'postern-outbox-'));
    const store = await openStore({ engine: 'lmdb', folder }, now);
    const stop = async () => {
      await store.close();
      rmSync(folder, { recursive: true });
    };
    return { store, stop };
  },
  async redis(now) {
    const server = await startRedis();
    const store = await openStore({ engine: 'redis', url: server.url }, now);
    const stop = async () => {
      await store.close();
      await server.stop();
    };
    return { store, stop };
  },
};

describe.each(Object.entries(STORES))('senders on %s', (_, make) => {
  let now = 1_800_000_000_000;
  let made: Made;
  const jobsOf = ({ documents }: Store) => createLogoutJobs(documents, () => now);
  const senders: LogoutSender[] = [];
  const recorded = listen();
  /** What was posted, by which sender. */
  let posted: { readonly sid: string; readonly by: number }[] = [];

  beforeAll(async () => {
    made = await make(() => now);
  });
  afterAll(() => made.stop());
  beforeEach(() => {
    posted = [];
  });

  /** A process that serves; `call` answers its posts. */
  function serve(by: number, call: (sid: string) => Promise<number>): void {
    const { audit, log } = recorded.telemetry;
    const sender = createLogoutSender({
      jobs: jobsOf(made.store),
      now: () => now,
      maySign: () => true,
      audit,
      log,
    });
    senders.push(sender);
    sender.use({
      areUsed: true,
      uriOf: (clientId) => (clientId === 'gone' ? undefined : 'https://app.example/logout'),
      sign: async ({ sid }) => sid,
      outgoing: {
        get: () => Promise.reject(new Error('nothing is fetched')),
        post(_url, { logout_token: sid = '' }) {
          posted.push({ sid, by });
          return call(sid);
        },
      },
    });
  }

  const stopAll = async () => {
    await Promise.all(senders.splice(0).map((sender) => sender.stop()));
  };

  const jobs = (count: number, clientId = 'web') =>
    Array.from({ length: count }, (_job, index) => ({
      clientId,
      accountId: 'usr_a',
      sid: `${clientId}${index}`,
    }));
  const isEmpty = () => until(async () => expect(await jobsOf(made.store).list()).toEqual([]));

  it('send each job once, one after the other as it was given', async () => {
    await jobsOf(made.store).add(jobs(30));
    await jobsOf(made.store).add(jobs(30));
    for (const by of [1, 2, 3]) serve(by, async () => 204);
    await isEmpty();
    await stopAll();
    expect(posted.map(({ sid }) => sid).toSorted()).toEqual(
      jobs(30)
        .map(({ sid }) => sid)
        .toSorted(),
    );
  });

  it('call some of a great many apps at a time', async () => {
    const gate = Promise.withResolvers<void>();
    let open = 0;
    let most = 0;
    await jobsOf(made.store).add(Array.from({ length: 120 }, (_app, app) => jobs(1, `app${app}-`)).flat());
    serve(1, async () => {
      open += 1;
      most = Math.max(most, open);
      await gate.promise;
      open -= 1;
      return 200;
    });
    await until(() => expect(most).toBeGreaterThanOrEqual(50));
    gate.resolve();
    await isEmpty();
    await stopAll();
    expect([most, posted.length]).toEqual([50, 120]);
  });

  it('take over what another one began and never ended, when its time is up', async () => {
    const hang = Promise.withResolvers<number>();
    await jobsOf(made.store).add(jobs(1));
    serve(1, async (sid) => (sid === 'web0' ? hang.promise : 200));
    await until(() => expect(posted).toHaveLength(1));
    serve(2, async () => 200);
    // Somebody else's job is not due.
    await jobsOf(made.store).add(jobs(1, 'web2'));
    await until(() => expect(posted.map(({ sid }) => sid)).toContain('web20'));
    expect(posted.filter(({ sid }) => sid === 'web0')).toEqual([{ sid: 'web0', by: 1 }]);
    now += 5000;
    await isEmpty();
    expect(posted.filter(({ sid }) => sid === 'web0').map(({ by }) => by)).toEqual([1, 2]);
    hang.resolve(200);
    await stopAll();
  });

  it('F1-01: give a job up that ended the process at each of its four tries', async () => {
    const hang = Promise.withResolvers<number>();
    await jobsOf(made.store).add(jobs(1));
    // What doesn't come back is what a process that ended looks like to the others.
    for (const [tries, wait] of [5000, 25_000, 60_000, 5000].entries()) {
      serve(tries, () => hang.promise);
      await until(async () => {
        expect(posted).toHaveLength(tries + 1);
        expect((await jobsOf(made.store).list())[0]?.job.failures).toBe(tries + 1);
      });
      now += wait;
    }
    for (const by of [4, 5]) serve(by, async () => 200);
    await isEmpty();
    expect(posted).toHaveLength(4);
    const failed = recorded.audit('app_logout').filter(({ outcome }) => outcome === 'failure');
    expect(failed).toMatchObject([{ reason: 'cut_off' }]);
    hang.resolve(200);
    await stopAll();
  });

  it('send what waits for longer than anything ever waits: the clock was set back', async () => {
    await jobsOf(made.store).add(jobs(1));
    now -= 60 * 60 * 1000;
    serve(1, async () => 200);
    await isEmpty();
    await stopAll();
  });

  it('keep for a day what is for an app of another file', async () => {
    await jobsOf(made.store).add(jobs(1, 'gone'));
    serve(1, async () => 200);
    await jobsOf(made.store).add(jobs(1));
    await until(async () => expect(await jobsOf(made.store).list()).toHaveLength(1));
    now += 24 * 60 * 60 * 1000;
    await isEmpty();
    expect(posted.map(({ sid }) => sid)).toEqual(['web0']);
    await stopAll();
  });
});
