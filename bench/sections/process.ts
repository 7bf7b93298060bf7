// The service as a whole: beside a crowd, after a stall, at its start, and how often a sign-in waits for the store.
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { startRedis } from '../../test/world/servers.ts';
import type { CrowdFound, CrowdOptions } from '../crowd.ts';
import { ask, paced, runWrk } from '../load.ts';
import { figure, type Figures, type Subject } from '../measure.ts';
import { User } from '../people.ts';
import { cpuSeconds, residentMegabytes } from '../processes.ts';
import { CountingBrowser, startProxy } from '../proxy.ts';
import { figureAtMost, type Section } from '../section.ts';
import { type Configured, LMDB, type Stage } from '../service.ts';
import { introspectionRequest, tokenRequest } from '../subjects.ts';

const CROWD = 200;
/** Tokens a second: a small part of the service's capacity, as on a usual day. */
const RATE = 100;
/** The first burst of a crowd, all its requests at once, is over by then. Seconds. */
const RAMP_S = 1;
const PACED_S = 4;

export const crowd: Section = async (stage) => {
  const people = stage.isQuick ? 300 : 5000;
  const service = await stage.postern({ name: LMDB, store: 'lmdb', people });
  const seconds = stage.isQuick ? 1 : PACED_S;
  const { name, issuer, pid } = service;
  const workerData = { service: { name, issuer, pid }, crowd: CROWD, people } as unknown as CrowdOptions;
  const worker = new Worker(new URL('../crowd.ts', import.meta.url), { workerData });
  stage.later(() => worker.terminate());
  const tokens = () => paced(() => ask(tokenRequest(service)), RATE, seconds);
  const [idle, beside] = [`${name}, idle`, `${name}, beside ${CROWD} sign-ins at once`];
  const crowded: Subject = {
    name: beside,
    async slice() {
      worker.postMessage(seconds + 2 * RAMP_S);
      await once(worker, 'message');
      const signingIn = once(worker, 'message') as Promise<[CrowdFound]>;
      await sleep(RAMP_S * 1000);
      const figures = await tokens();
      const [found] = await signingIn;
      return { ...figures, ...found };
    },
  };
  return {
    subjects: [{ name: idle, slice: tokens }, crowded],
    targets: [
      {
        what: `machine token: p99 beside ${CROWD} sign-ins at once / idle`,
        goal: 3,
        stretch: 2,
        of: (round) => figure(beside, 'p99')(round) / figure(idle, 'p99')(round),
      },
    ],
  };
};

const STALL_MS = 500;

/** The service stalls, as on a machine that swaps or whose disk hangs; Redis continues. */
export const stall: Section = async (stage) => {
  const service = await stage.postern({ name: 'postern, redis', store: 'redis' });
  const { access_token: token } = JSON.parse(await ask(tokenRequest(service))) as Record<string, string>;
  const requests = [tokenRequest(service), introspectionRequest(service, token ?? '')];
  async function slice(): Promise<Figures> {
    const loads = requests.map((request) => runWrk(request, 3));
    await sleep(1000);
    process.kill(service.pid, 'SIGSTOP');
    await sleep(STALL_MS);
    process.kill(service.pid, 'SIGCONT');
    const found = await Promise.all(loads);
    const sum = (of: 'requests' | 'failed') => found.reduce((total, one) => total + one[of], 0);
    return { answers: sum('requests'), 'answers 503': sum('failed') };
  }
  return {
    subjects: [{ name: service.name, slice }],
    targets: [
      {
        what: `answers 503 after a stall of the service of ${STALL_MS} ms, Redis healthy (the worst round)`,
        goal: 0,
        by: 'most',
        of: figure(service.name, 'answers 503'),
      },
    ],
  };
};

const SETTLED_MS = 3000;
const TRY_EVERY_MS = 5;

/** The time from the start to the first answer, and the memory of an idle service. */
export async function startOnce(stage: Stage, configured: Configured, program?: string): Promise<Figures> {
  const startedAt = performance.now();
  const starting = stage.run(configured, program);
  // Polled from outside, because a line on standard output isn't an answer.
  const url = `${configured.issuer}/.well-known/openid-configuration`;
  const answered = async (): Promise<number> => {
    const text = await ask({ url }).catch(() => undefined);
    if (text !== undefined) return performance.now() - startedAt;
    await sleep(TRY_EVERY_MS);
    return answered();
  };
  const [service, ms] = await Promise.all([starting, answered()]);
  await sleep(SETTLED_MS);
  const megabytes = residentMegabytes(service.pid);
  await service.stop();
  return { 'first answer, ms': ms, 'idle memory, MB': megabytes };
}

export const start: Section = async (stage) => {
  const configured = await stage.configure({ name: LMDB, store: 'lmdb' });
  return {
    subjects: [{ name: LMDB, slice: () => startOnce(stage, configured) }],
    targets: [
      figureAtMost('start to first answer, ms (lmdb, one process)', LMDB, 'first answer, ms', [400, 300]),
      figureAtMost('idle memory, MB (lmdb, one process)', LMDB, 'idle memory, MB', [120, 100]),
    ],
  };
};

const TAKEN = 'configuration reloaded';

/** The time from SIGHUP to the new configuration: one of many clients has another name. */
export async function reloadOnce({ file }: Configured, pid: number): Promise<Figures> {
  const folder = path.dirname(file);
  const clients = path.join(folder, 'clients.json');
  const log = path.join(folder, 'log/service.log');
  const count = async () => (await readFile(log, 'utf8')).split(TAKEN).length;
  const [first, ...others] = JSON.parse(await readFile(clients, 'utf8')) as object[];
  const before = await count();
  await writeFile(clients, JSON.stringify([{ ...first, client_name: `Named ${before} times` }, ...others]));
  const [startedAt, cpu] = [performance.now(), cpuSeconds(pid)];
  process.kill(pid, 'SIGHUP');
  while ((await count()) === before) await sleep(TRY_EVERY_MS);
  const ms = performance.now() - startedAt;
  return { ms, cpu: (cpuSeconds(pid) - cpu) * 1e6 };
}

export const trips: Section = async (stage) => {
  const redis = await startRedis();
  const proxy = await startProxy(redis.port);
  stage.later(async () => {
    await proxy.stop();
    await redis.stop();
  });
  const service = await stage.postern({ name: 'postern, redis', store: proxy.url });
  let next = 0;
  async function slice(): Promise<Figures> {
    const browser = new CountingBrowser(service.issuer, proxy);
    const person = new User(service, (next += 1) % 100, browser);
    // The app's token request is the last one.
    await person.flow();
    return { trips: browser.trips + (await proxy.count()) };
  }
  return {
    subjects: [{ name: service.name, slice }],
    targets: [
      {
        what: 'first sign-in flow: store round trips in sequence (Redis)',
        goal: 26,
        stretch: 16,
        by: 'least',
        of: figure(service.name, 'trips'),
      },
    ],
  };
};
