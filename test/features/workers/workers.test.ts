// Several processes behind one port: the guarantees of one process hold for all of them, and the exit of one of them, or
// of the service, loses no request that it could answer. Runs the built service as an administrator starts it.
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { machineToken, signIn } from '../../world/app.ts';
import { begin, signInAs } from '../../world/person.ts';
import { basic, refresh } from '../../world/token-endpoint.ts';
import { GENEROUS, seedStore, type World, worldClients, writeWorldConfig } from '../../world/world.ts';
import { MACHINE_MS } from '../../world/clock.ts';
import { startLoad } from '../../world/load.ts';
import { runCli, startProcess, type ServiceProcess } from '../../world/process.ts';

/** The value in the fourth column of /proc/net/tcp. */
const ESTABLISHED = '01';

type Readyz = {
  readonly status: string;
  readonly problems: readonly string[];
  readonly configuration: {
    readonly hash: string;
    readonly problem?: string;
    readonly pending?: readonly string[];
    readonly workers?: readonly { readonly pid: number; readonly hash?: string }[];
  };
};

let folder: string | undefined;
let service: ServiceProcess | undefined;
afterEach(async () => {
  await service?.end('SIGKILL');
  service = undefined;
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  folder = undefined;
});

/** How many connections to `port` a process holds, as the kernel sees it. */
async function connectionsOf(pid: number, port: number): Promise<number> {
  const descriptors = await readdir(`/proc/${pid}/fd`);
  const links = descriptors.map(async (name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => ''));
  const own = new Set(await Promise.all(links));
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const rows = (await readFile('/proc/net/tcp', 'utf8')).split('\n').map((row) => row.trim().split(/\s+/));
  return rows.filter(
    ([, address, , state, , , , , , inode]) =>
      address?.endsWith(local) && state === ESTABLISHED && own.has(`socket:[${inode}]`),
  ).length;
}

async function writeFiles(config: Readonly<Record<string, unknown>>): Promise<World> {
  folder = await mkdtemp(path.join(tmpdir(), 'postern-workers-'));
  const world = await writeWorldConfig(folder, { config });
  await seedStore(world.configFile);
  return world;
}

async function startWorkers(workers: number, config: Readonly<Record<string, unknown>> = GENEROUS) {
  const world = await writeFiles({ workers, ...config });
  service = await startProcess(world.configFile);
  return { world, running: service };
}

const { rate_limits: wide } = GENEROUS;
const LIMITED = { rate_limits: { ...wide, token: '100/1m' } };

/** One service for all tests of a block; each test leaves it ready. */
function useWorkers() {
  let shared: Awaited<ReturnType<typeof startWorkers>> | undefined;
  beforeAll(async () => {
    shared = await startWorkers(2, LIMITED);
    [service, folder] = [undefined, undefined];
  });
  afterAll(async () => {
    await shared?.running.end('SIGKILL');
    if (shared !== undefined) await rm(shared.world.folder, { recursive: true, force: true });
  });
  return () => {
    if (shared === undefined) throw new Error('the service has not been started');
    return shared;
  };
}

async function readyz({ management }: World): Promise<Readyz> {
  return (await (await fetch(`${management}/readyz`)).json()) as Readyz;
}

async function workersOf(world: World) {
  return (await readyz(world)).configuration.workers ?? [];
}

async function findWithin<T>(
  what: string,
  seconds: number,
  look: () => Promise<T | undefined | false>,
): Promise<T> {
  const deadline = performance.now() + seconds * 1000 + MACHINE_MS;
  while (performance.now() < deadline) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    await delay(50);
  }
  throw new Error(`not within ${seconds} s: ${what}`);
}

/** Sends a request on a new connection, so that the workers take turns. */
async function requestAnew(
  url: string,
  form?: Readonly<Record<string, string>>,
  headers: Record<string, string> = {},
) {
  return new Promise<{ status: number; body: Record<string, unknown> }>((resolve, reject) => {
    const body = form && new URLSearchParams(form).toString();
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    const options = {
      method: body === undefined ? 'GET' : 'POST',
      agent: false,
      headers: { ...headers, ...type },
    };
    const sent = http.request(url, options, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
        }),
      );
    });
    sent.on('error', reject).end(body);
  });
}

/** Waits until each caller has a connection and has used it. */
async function untilAllAnswered(load: ReturnType<typeof startLoad>): Promise<void> {
  const hasAnswers = () => Promise.resolve(load.callers.every(({ answered }) => answered > 2));
  await findWithin('answers to all callers', 10, hasAnswers);
}

const isAlive = (pid: number): boolean => existsSync(`/proc/${pid}`);
const times = async <T>(count: number, work: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, work));

/** Requests machine tokens, all at once. */
const issue = async ({ base }: World, count: number, client: 'svc' | 'rs1' = 'svc') =>
  times(count, async () =>
    requestAnew(
      `${base}/oauth/token`,
      { grant_type: 'client_credentials' },
      { authorization: basic(client) },
    ),
  );

describe('two workers', () => {
  const two = useWorkers();

  it('are watched by a process that has neither store nor engine, and say together whether they are ready', async () => {
    const { world, running } = two();
    const { status, problems, configuration } = await readyz(world);
    expect([status, problems]).toEqual(['ready', []]);
    const workers = configuration.workers ?? [];
    expect(workers.map(({ hash }) => hash)).toEqual([configuration.hash, configuration.hash]);
    expect(running.stdout().match(/Postern is running/g)).toHaveLength(1);

    const hasStore = (pid: number) => readFileSync(`/proc/${pid}/maps`, 'utf8').includes('data.mdb');
    expect(workers.map(({ pid }) => hasStore(pid))).toEqual([true, true]);
    expect(hasStore(running.pid)).toBe(false);
  });

  it('count in one: each serves, and /metrics adds up', async () => {
    const { world, running } = two();
    const answers = await issue(world, 20);
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    const issuedBy = () =>
      running
        .stdout()
        .split('\n')
        .filter((line) => line.includes('"token_issued"') && line.endsWith('}'))
        .map((line) => (JSON.parse(line) as { worker: string }).worker);
    // An answer doesn't wait for the audit trail.
    await expect.poll(() => new Set(issuedBy())).toEqual(new Set(['1', '2']));
    const metrics = await (await fetch(`${world.management}/metrics`)).text();
    expect(metrics).toMatch(/^postern_tokens_issued_total\{grant_type="client_credentials"\} 20$/m);
  });

  it('forget what was revoked before the next request, on each of them', async () => {
    const { world } = two();
    const ask = async (token: string) =>
      (await requestAnew(`${world.base}/oauth/introspect`, { token }, { authorization: basic('rs1') })).body[
        'active'
      ];
    const machine = await machineToken(world, 'reports.read');
    const { tokens } = await signIn(world, { scope: 'openid offline_access reports.read' });
    for (const [client, token] of [
      ['svc', machine],
      ['web', tokens.access_token],
    ] as const) {
      expect(await times(10, async () => ask(token))).toEqual(Array(10).fill(true));
      const { status } = await requestAnew(
        `${world.base}/oauth/revoke`,
        { token },
        { authorization: basic(client) },
      );
      expect(status).toBe(200);
      expect(await times(50, async () => ask(token))).toEqual(Array(50).fill(false));
    }
    expect((await refresh(world, tokens.refresh_token)).status).toBe(400);
  });

  it('of which one hangs make the service unready, by name, and nothing else waits for it', async () => {
    const { world } = two();
    const [, second] = await workersOf(world);
    process.kill(second?.pid ?? 0, 'SIGSTOP');
    await findWithin('it is named', 5, async () => {
      const { status, problems } = await readyz(world);
      return status === 'not ready' && problems.join() === 'worker 2 does not answer';
    });
    expect((await fetch(`${world.management}/metrics`)).status).toBe(200);
    process.kill(second?.pid ?? 0, 'SIGCONT');
    const again = await findWithin('ready again', 5, async () => {
      const now = await readyz(world);
      return now.status === 'ready' && now;
    });
    expect(again.configuration.workers?.[1]?.pid).toBe(second?.pid);
  });

  it('CF: take a changed file over within five seconds, and keep the old one when the file is broken', async () => {
    const { world } = two();
    const before = await readyz(world);
    const file = JSON.parse(await readFile(world.configFile, 'utf8')) as Record<string, unknown>;
    const clients = worldClients().filter(({ client_id: id }) => id !== 'svc');
    await writeFile(world.configFile, JSON.stringify({ ...file, clients, workers: 3 }));
    const after = await findWithin('the new hash on both', 5, async () => {
      const now = await readyz(world);
      const { hash, workers = [] } = now.configuration;
      return hash !== before.configuration.hash && workers.every((one) => one.hash === hash) && now;
    });
    const pending = ['workers'];
    expect(after.configuration.pending).toEqual(pending);
    const refused = await issue(world, 10);
    expect(refused.map(({ status }) => status)).toEqual(Array(10).fill(401));

    await writeFile(world.configFile, '{ "issuer": ');
    const isRefusedByBoth = ({ configuration: { problem } }: Readyz) => problem?.startsWith(world.configFile);
    const broken = await findWithin('the problem', 5, async () => {
      const now = await readyz(world);
      return isRefusedByBoth(now) && now;
    });
    expect([broken.status, broken.configuration.hash]).toEqual(['ready', after.configuration.hash]);

    // A worker that replaces another one in the meantime runs the same configuration.
    const [victim] = await workersOf(world);
    process.kill(victim?.pid ?? 0, 'SIGKILL');
    const healed = await findWithin('another worker', 10, async () => {
      const now = await readyz(world);
      return now.status === 'ready' && now.configuration.workers?.[0]?.pid !== victim?.pid && now;
    });
    expect(healed.configuration.workers?.map(({ hash }) => hash)).toEqual(
      Array(2).fill(after.configuration.hash),
    );
    expect(healed.configuration.pending).toEqual(pending);
    await findWithin('the problem on both', 5, async () => isRefusedByBoth(await readyz(world)));
  });
});

it('IN-10: two workers of their own keep the counters of one that is silent, and of one that ended', async () => {
  const { world } = await startWorkers(2);
  const scrape = async () => {
    const text = await (await fetch(`${world.management}/metrics`)).text();
    const count = (name: string) => Number(new RegExp(`^${name}.* (\\d+)$`, 'm').exec(text)?.[1]);
    return {
      tokens: count('postern_tokens_issued_total'),
      requests: count('postern_http_request_duration_seconds_count\\{route="token",status="200"'),
      ended: count('postern_workers_ended_total'),
      processes: [...text.matchAll(/^process_resident_memory_bytes\{worker="(\w+)"\}/gm)].map(
        ([, worker]) => worker,
      ),
    };
  };
  await issue(world, 10);
  const all = { tokens: 10, requests: 10, ended: 0, processes: ['primary', '1', '2'] };
  // The metrics omit a worker that is late, as on a busy machine.
  await expect.poll(scrape).toEqual(all);

  const [, second] = await workersOf(world);
  process.kill(second?.pid ?? 0, 'SIGSTOP');
  await expect.poll(scrape).toEqual(all);
  process.kill(second?.pid ?? 0, 'SIGKILL');
  const another = await findWithin('another worker', 10, async () => {
    const { status, configuration } = await readyz(world);
    const third = configuration.workers?.[1];
    return status === 'ready' && third?.pid !== second?.pid && third;
  });
  await expect.poll(scrape).toEqual({ ...all, ended: 1 });
  await issue(world, 10);
  const twice = { ...all, tokens: 20, requests: 20, ended: 1 };
  await expect.poll(scrape).toEqual(twice);

  process.kill(another.pid, 'SIGKILL');
  await findWithin('its end', 10, () => Promise.resolve(!isAlive(another.pid)));
  await expect.poll(scrape).toMatchObject({ tokens: 20, requests: 20, ended: 2 });
});

describe('the end of a process', () => {
  it('RD-30: kill -9 of one worker under load cuts its connections alone, and another one takes its place', async () => {
    const { world, running } = await startWorkers(2);
    const load = startLoad(world, { callers: 20, everyMs: 20 });
    await untilAllAnswered(load);
    const [victim] = await workersOf(world);
    // The busier worker gets fewer callers, so the test counts the callers of each.
    const held = await connectionsOf(victim?.pid ?? 0, Number(new URL(world.base).port));
    process.kill(victim?.pid ?? 0, 'SIGKILL');
    const killedAt = performance.now();
    await findWithin('another worker', 10, async () => {
      const { status, configuration } = await readyz(world);
      return status === 'ready' && configuration.workers?.[0]?.pid !== victim?.pid;
    });
    await findWithin('answers to all callers after the kill', 10, () =>
      Promise.resolve(load.callers.every(({ lastAnswerAt }) => lastAnswerAt > killedAt)),
    );
    await load.stop();

    const cut = load.callers.filter(({ lost }) => lost.length > 0);
    expect(held).toBeLessThan(load.callers.length);
    expect(cut.length).toBeLessThanOrEqual(held);
    // One request in progress, and one new connection during its handover.
    expect(Math.max(...load.callers.map(({ lost }) => lost.length))).toBeLessThanOrEqual(2);
    expect(load.callers.every(({ refused }) => refused === 0)).toBe(true);
    expect(running.stderr()).toMatch(/SIGKILL.*a worker exited and is being replaced/);
    expect((await running.end('SIGTERM')).code).toBe(0);
  });

  it.each([1, 2])('HT-37: SIGTERM under load loses no accepted request: %i worker(s)', async (workers) => {
    const { world, running } = await startWorkers(workers);
    const load = startLoad(world, { callers: 20, everyMs: 5 });
    await untilAllAnswered(load);
    const began = performance.now();
    const { code } = await running.end('SIGTERM');
    expect(performance.now() - began).toBeLessThan(10_000 + MACHINE_MS);
    await findWithin('all callers to be refused', 10, () =>
      Promise.resolve(load.callers.every(({ refused }) => refused > 0)),
    );
    await load.stop();
    expect(code).toBe(0);
    expect(load.callers.flatMap(({ lost }) => lost)).toEqual([]);
  });

  it('of the process that watches, by kill -9, ends the workers, and a new start finds everything', async () => {
    const { world, running } = await startWorkers(2);
    const { tokens } = await signIn(world);
    const pids = (await workersOf(world)).map(({ pid }) => pid);
    process.kill(running.pid, 'SIGKILL');
    await findWithin('no worker is left', 10, () => Promise.resolve(!pids.some(isAlive)));
    service = await startProcess(world.configFile);
    const { status } = await requestAnew(`${world.base}/oauth/userinfo`, undefined, {
      authorization: `Bearer ${tokens.access_token}`,
    });
    expect(status).toBe(200);
  });

  it.each([1, 2])('F1-02: an uncaught error is one fatal line: %i worker(s)', async (workers) => {
    const world = await writeFiles({ workers });
    // Fails when the form with the password arrives, and again with each later request.
    const crash = path.join(world.folder, 'crash.mjs');
    await writeFile(
      crash,
      `import { subscribe } from 'node:diagnostics_channel';
      let isOn = false;
      subscribe('http.server.request.start', ({ request }) => {
        isOn ||= request.url.endsWith('/login');
        if (isOn) setImmediate(() => { throw new Error('nobody catches this'); });
        if (isOn) void Promise.reject(new Error('nor this'));
      });`,
    );
    const command = [process.execPath, '--import', crash, path.resolve('dist/main.js')];
    service = await startProcess(world.configFile, command);
    const { browser, page } = await begin(world);
    // Its body never arrives: only the two seconds end it.
    const hung = http.request(`${world.base}/oauth/token`, { method: 'POST' });
    const cut = new Promise((resolve) => hung.on('error', () => undefined).once('close', resolve));
    hung.write('grant_type=');
    const answer = await signInAs(browser, page, 'alice');
    expect([answer.status, answer.headers.getSetCookie()]).toEqual([503, []]);
    if (workers === 1) {
      await cut;
      expect((await service.end('SIGCONT')).code).toBe(1);
    } else {
      hung.destroy();
      const crashes = async () =>
        (await (await fetch(`${world.management}/metrics`)).text()).match(/crashes_total \d/g);
      await expect.poll(crashes, { timeout: 20_000 }).toEqual(['crashes_total 1']);
      await findWithin('another worker', 10, async () => (await readyz(world)).status === 'ready');
      expect(service.stderr()).toContain('a worker exited and is being replaced');
    }
    const fatal = service
      .stderr()
      .split('\n')
      .filter((line) => line.includes('"level":60'));
    expect(fatal).toHaveLength(1);
    expect(fatal[0]).toMatch(/(?:nobody catches|nor) this.*crash\.mjs/);
  });

  it('before it ever served, without a word, ends the start with one line', async () => {
    const world = await writeFiles({ workers: 2 });
    // Ends each worker before it reads its first message.
    const crash = path.join(world.folder, 'crash.mjs');
    await writeFile(crash, "import c from 'node:cluster'; if (c.isWorker) process.exit(7);");
    const command = [process.execPath, '--import', crash, path.resolve('dist/main.js')];
    await expect(startProcess(world.configFile, command)).rejects.toThrow(
      /ended with 1: .*worker [12] could not start: it ended with 7\n$/s,
    );
  });

  it('F1-02: at the start for a reason is one clear line, and exit code 1', async () => {
    const world = await writeFiles({ workers: 2 });
    // The primary doesn't check this: another issuer has started on this store.
    const config = await readFile(world.configFile, 'utf8');
    await writeFile(world.configFile, config.replace(world.issuer, 'https://other.example'));
    const { code, stderr, stdout } = await runCli(['serve', '--config', world.configFile]);
    expect(stderr).toMatch(/^[^\n]*postern store set-issuer[^\n]*\n$/);
    expect(stdout).not.toContain('is running');
    expect(code).toBe(1);
  });
});
