// The outbox, with the senders of several processes on one store.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createJobs, createOutbox, type JobFailure, type JobForm } from '../../../src/store/outbox.ts';
import { openStore } from '../../../src/store/open.ts';
import type { Store } from '../../../src/store/store.ts';
import { until } from '../../world/clock.ts';
import { startRedis } from '../../world/servers.ts';
import { useStarted } from '../../world/started.ts';

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

type Letter = { readonly to: string; readonly name: string };
const FORM: JobForm<Letter> = {
  collection: 'letters',
  keyOf: ({ name }) => name,
  isJob: (form): form is typeof form & Letter => typeof form['to'] === 'string',
};
const FIRST: Letter = { to: 'web', name: 'web0' };
const DONE = () => Promise.resolve('done' as const);
const WAITS_MS = [5000, 25_000, 60_000, 5000];

describe.each(Object.entries(STORES))('senders on %s', (_, make) => {
  let now = 1_800_000_000_000;
  const jobsOf = ({ documents }: Store) => createJobs(documents, () => now, FORM);
  const senders: ReturnType<typeof createOutbox<Letter>>[] = [];
  /** The posts, each with its sender. */
  let posted: { readonly name: string; readonly by: number }[] = [];
  /** The reported results of jobs: `web0 done`. */
  let told: string[] = [];

  const made = useStarted(() => make(() => now));
  beforeEach(() => {
    [posted, told] = [[], []];
  });

  /** A process with a sender; `call` answers its posts. */
  function serve(
    by: number,
    call: (name: string) => Promise<'done' | JobFailure>,
    jobs = jobsOf(made().store),
  ): void {
    const sender = createOutbox(jobs, () => now, {
      targetOf: ({ to }) => to,
      waitsMs: WAITS_MS,
      mayRun: () => true,
      canRun: ({ to }) => to !== 'gone',
      run({ name }) {
        posted.push({ name, by });
        return call(name);
      },
      done: ({ name }) => told.push(`${name} done`),
      failed: ({ name, failures }, { reason }, isLast) =>
        told.push(`${name} ${reason} ${failures}${isLast ? ' given up' : ''}`),
      broke: (error) => told.push(String(error)),
    });
    senders.push(sender);
    sender.start();
  }

  const stopAll = async () => {
    await Promise.all(senders.splice(0).map((sender) => sender.stop()));
  };

  const jobs = (count: number, to = 'web') =>
    Array.from({ length: count }, (_job, index) => ({ to, name: `${to}${index}` }));
  const isEmpty = () => until(async () => expect(await jobsOf(made().store).list()).toEqual([]));

  it('send each job once, one after the other as it was given', async () => {
    await jobsOf(made().store).add(jobs(30));
    await jobsOf(made().store).add(jobs(30));
    for (const by of [1, 2, 3]) serve(by, DONE);
    await isEmpty();
    await stopAll();
    expect(posted.map(({ name }) => name).toSorted()).toEqual(
      jobs(30)
        .map(({ name }) => name)
        .toSorted(),
    );
  });

  it('call some of a great many apps at a time', async () => {
    const gate = Promise.withResolvers<void>();
    let open = 0;
    let most = 0;
    await jobsOf(made().store).add(Array.from({ length: 120 }, (_app, app) => jobs(1, `app${app}-`)).flat());
    serve(1, async () => {
      open += 1;
      most = Math.max(most, open);
      await gate.promise;
      open -= 1;
      return 'done';
    });
    await until(() => expect(most).toBeGreaterThanOrEqual(50));
    gate.resolve();
    await isEmpty();
    await stopAll();
    expect([most, posted.length]).toEqual([50, 120]);
  });

  it('take over what another one began and never ended, when its time is up', async () => {
    const hang = Promise.withResolvers<'done'>();
    await jobsOf(made().store).add(jobs(1));
    serve(1, async (name) => (name === 'web0' ? hang.promise : 'done'));
    await until(() => expect(posted).toHaveLength(1));
    serve(2, DONE);
    // A job that another process has taken is not due.
    await jobsOf(made().store).add(jobs(1, 'web2'));
    await until(() => expect(posted.map(({ name }) => name)).toContain('web20'));
    expect(posted.filter(({ name }) => name === 'web0')).toEqual([{ name: 'web0', by: 1 }]);
    now += 5000;
    await isEmpty();
    expect(posted.filter(({ name }) => name === 'web0').map(({ by }) => by)).toEqual([1, 2]);
    hang.resolve('done');
    await stopAll();
  });

  it('F1-01: give a job up that ended the process at each of its four tries', async () => {
    const hang = Promise.withResolvers<'done'>();
    await jobsOf(made().store).add(jobs(1));
    // A post without an answer looks to other processes like one of a process that has ended.
    for (const [tries, wait] of WAITS_MS.entries()) {
      serve(tries, () => hang.promise);
      await until(async () => {
        expect(posted).toHaveLength(tries + 1);
        expect((await jobsOf(made().store).list())[0]?.job.failures).toBe(tries + 1);
      });
      now += wait;
    }
    for (const by of [4, 5]) serve(by, DONE);
    await isEmpty();
    expect(posted).toHaveLength(4);
    await until(() => expect(told).toEqual(['web0 cut_off 4 given up']));
    hang.resolve('done');
    await stopAll();
  });

  it('send what waits for longer than anything ever waits: the clock was set back', async () => {
    await jobsOf(made().store).add(jobs(1));
    now -= 60 * 60 * 1000;
    serve(1, DONE);
    await isEmpty();
    await stopAll();
    expect(told).toEqual(['web0 done']);
  });

  it('keep for a day what only another process may be able to run', async () => {
    await jobsOf(made().store).add(jobs(1, 'gone'));
    serve(1, DONE);
    await jobsOf(made().store).add(jobs(1));
    await until(async () => expect(await jobsOf(made().store).list()).toHaveLength(1));
    now += 24 * 60 * 60 * 1000;
    await isEmpty();
    expect(posted.map(({ name }) => name).toSorted()).toEqual(['gone0', 'web0']);
    await stopAll();
  });

  it('count a try that throws, tell the error, and go on with the others', async () => {
    await jobsOf(made().store).add(jobs(2));
    serve(1, async (name) => (name === 'web0' ? Promise.reject(new Error('broken')) : 'done'));
    await until(() => expect(told.toSorted()).toEqual(['Error: broken', 'web1 done']));
    const [{ job } = { job: undefined }] = await jobsOf(made().store).list();
    expect(job).toMatchObject({ name: 'web0', failures: 1, notBefore: now + 5000 });
    await stopAll();
    now += 5000;
    serve(2, DONE);
    await isEmpty();
    await stopAll();
  });

  it('run a job when what it is about is done, or when the process that does it has ended', async () => {
    const [gate, never] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
    const [first = FIRST, second = FIRST] = jobs(2);
    serve(1, DONE);
    const doing = jobsOf(made().store).around(first, () => gate.promise);
    void jobsOf(made().store).around(second, () => never.promise);
    await expect(
      jobsOf(made().store).around({ to: 'api', name: 'api0' }, () => Promise.reject(new Error('the disk'))),
    ).rejects.toThrow('the disk');
    await until(async () => expect(await jobsOf(made().store).list()).toHaveLength(3));
    gate.resolve('is done');
    expect(await doing).toBe('is done');
    await until(() => expect(posted.map(({ name }) => name)).toEqual(['web0']));
    now += 5000;
    await isEmpty();
    expect(posted.map(({ name }) => name).toSorted()).toEqual(['api0', 'web0', 'web1']);
    await stopAll();
  });

  it('take at most 200 of 1,000 jobs in one look, and deliver all', async () => {
    const gate = Promise.withResolvers<'done'>();
    const stored = jobsOf(made().store);
    for (let target = 0; target < 10; target += 1) {
      await stored.add(jobs(100, `t${target}-`));
      now += 1;
    }
    // Each round takes the jobs of two targets, and each target has four in progress.
    let looks = 0;
    const list = async () => {
      const underWay = 8 * Math.min(looks, 5);
      if (looks <= 5) await until(() => expect(posted).toHaveLength(underWay));
      if (looks === 5) gate.resolve('done');
      looks += 1;
      return stored.list();
    };
    serve(1, () => gate.promise, { ...stored, list });
    await isEmpty();
    await stopAll();
    expect(looks).toBeGreaterThan(5);
    expect(new Set(posted.map(({ name }) => name)).size).toBe(1000);
    expect(posted).toHaveLength(1000);
  });

  it('look less often for what is not due yet, and at once for the next that is due (T10)', async () => {
    const stored = jobsOf(made().store);
    const [waiting] = await (async () => (await stored.add(jobs(1)), stored.list()))();
    let looks = 0;
    const list = async () => {
      looks += 1;
      const due = looks > 2 ? await stored.list() : [];
      return [...due, ...Array.from({ length: 5000 }, () => later)];
    };
    if (waiting === undefined) throw new Error('no job');
    const later = { ...waiting, job: { ...waiting.job, notBefore: now + 5000 } };
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    serve(1, DONE, { ...stored, list });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(looks).toBe(2);
    await vi.advanceTimersByTimeAsync(1000);
    vi.useRealTimers();
    await isEmpty();
    await stopAll();
    expect(posted).toHaveLength(1);
  });

  it('mark a job while a try is under way', async () => {
    const stored = jobsOf(made().store);
    const gate = Promise.withResolvers<JobFailure>();
    await stored.add(jobs(1));
    serve(1, () => gate.promise);
    const isHeld = async () => (await stored.list())[0]?.job.isHeld;
    await until(async () => expect(await isHeld()).toBe(true));
    gate.resolve({ reason: 'busy', mayPass: true });
    await until(async () => expect(await isHeld()).toBe(false));
    await stopAll();
    for (const one of await stored.list()) await stored.remove(one);
  });

  it('skip a job that is damaged or newer, and leave it', async () => {
    const { documents } = made().store;
    const unread = { damaged: 'x', other: '{"v":1}', newer: '{"v":99}' };
    await Promise.all(Object.entries(unread).map(([id, value]) => documents.put('letters', id, value, 0)));
    await jobsOf(made().store).add(jobs(1));
    serve(1, DONE);
    await isEmpty();
    await stopAll();
    const left = (await documents.list('letters')).map(({ id }) => id);
    expect(left.toSorted()).toEqual(['damaged', 'newer', 'other']);
  });
});
