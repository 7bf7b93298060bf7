// The configuration changes under two running processes that share one Redis: a valid file takes effect on both within five
// seconds, and a broken one changes nothing.
import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { freePort, startRedis, type RedisServer } from '../world/servers.ts';
import { MACHINE_MS } from '../world/clock.ts';
import { authorize, machineToken, signIn } from '../world/app.ts';
import { introspect, userinfo } from '../world/presented-tokens.ts';
import { post } from '../world/requests.ts';
import { basic } from '../world/token-endpoint.ts';
import { SECRETS, type World, WORLD_ENV, writeWorldConfig } from '../world/world.ts';
import { startProcess, type ServiceProcess } from '../world/process.ts';
import type { AuditRecord } from '../world/recorded-telemetry.ts';
import { useEnvironment } from '../world/terminal.ts';
import { tempFolder } from '../world/temp-folder.ts';

/** The contract: in force on every process five seconds after the file is there; two processes load it at once. Milliseconds. */
const DEADLINE_MS = 5000 + 2 * MACHINE_MS;
/** Pause between requests of a client that sends them all the time: it must not slow down the processes that it observes. Milliseconds. */
const PAUSE_MS = 10;

type File = { clients: Record<string, unknown>[]; [key: string]: unknown };

describe('a changed configuration', () => {
  useEnvironment(() => WORLD_ENV);
  const folder = tempFolder();
  let redis: RedisServer;
  let worlds: World[];
  let services: ServiceProcess[];
  let original: File;
  /** The configuration hash of `original` on each node. */
  let baseline: string[];
  beforeAll(async () => {
    redis = await startRedis();
    const ports = [await freePort(), await freePort(), await freePort(), await freePort()];
    const issuer = `http://127.0.0.1:${ports[0]}`;
    worlds = [];
    services = [];
    for (const [name, port, management] of [
      ['a', ports[0], ports[1]],
      ['b', ports[2], ports[3]],
    ] as const) {
      const own = path.join(folder, name);
      await mkdir(own);
      const config = {
        rate_limits: { token: '200000/1m', introspection: '100000/1m' },
        trusted_proxies: ['127.0.0.1'],
      };
      const written = await writeWorldConfig(own, { store: redis.url, issuer, config }, [
        port ?? 0,
        management ?? 0,
      ]);
      worlds.push(written);
      services.push(await startProcess(written.configFile));
    }
    baseline = await Promise.all(worlds.map(async (world) => (await status(world)).hash));
    original = JSON.parse(await readFile(worlds[0]?.configFile ?? '', 'utf8')) as File;
  });
  afterAll(async () => {
    await Promise.all(services.map((service) => service.end()));
    await redis.stop();
  });
  beforeEach(async () => {
    await change((file) => file);
    await everywhere(async (world) => {
      const { hash, problem } = await status(world);
      expect({ hash, problem }).toEqual({ hash: baseline[0], problem: undefined });
    });
    await Promise.all(worlds.map(untilRead));
  });

  /** Resolves when everything that a process has written to its audit trail so far has been read here. */
  async function untilRead(world: World): Promise<void> {
    const refused = () => auditOf(world, 'client_authentication').length;
    const before = refused();
    await tokenAnswer(world, 'wrong');
    await expect.poll(refused).toBeGreaterThan(before);
  }

  /** Each node has its own file, as in a deployment; it is replaced by rename, as editors do. */
  async function change(edit: (file: File) => File): Promise<void> {
    for (const world of worlds) {
      const port = Number(new URL(world.base).port);
      const management = { host: '127.0.0.1', port: Number(new URL(world.management).port) };
      const file = { ...edit(structuredClone(original)), listen: { host: '127.0.0.1', port }, management };
      const draft = `${world.configFile}.draft`;
      await writeFile(draft, JSON.stringify(file, undefined, 2));
      await rename(draft, world.configFile);
    }
  }

  async function status(world: World): Promise<{ hash: string; problem?: string }> {
    const answer = (await (await fetch(`${world.management}/readyz`)).json()) as {
      configuration: { hash: string; problem?: string };
    };
    return answer.configuration;
  }

  function serviceOf(world: World): ServiceProcess {
    const service = services[worlds.indexOf(world)];
    if (service === undefined) throw new Error('no process of that world');
    return service;
  }

  /** The audit records of a process, oldest first. */
  function auditOf(world: World, event: string): readonly AuditRecord[] {
    return serviceOf(world)
      .stdout()
      .split('\n')
      .filter((line) => line.startsWith('{') && line.endsWith('}'))
      .map((line) => JSON.parse(line) as AuditRecord)
      .filter((record) => record.event === event);
  }

  const changesOf = (world: World) => auditOf(world, 'configuration_changed');

  /** How often a process has reported a refused configuration, in each place. */
  async function refusals(world: World) {
    return {
      logged:
        serviceOf(world).stderr().split('the configuration is invalid, the previous one stays in use')
          .length - 1,
      recorded: changesOf(world).filter(({ outcome }) => outcome === 'failure').length,
    };
  }

  /** Expects `check` to hold on both processes within the deadline. */
  async function everywhere(check: (world: World) => Promise<void>): Promise<void> {
    const until = Date.now() + DEADLINE_MS;
    for (const world of worlds) {
      for (;;) {
        try {
          await check(world);
          break;
        } catch (error) {
          if (Date.now() > until) throw error;
          await sleep(50);
        }
      }
    }
  }

  const withClient = (
    file: File,
    id: string,
    edit: (client: Record<string, unknown>) => Record<string, unknown>,
  ) => ({
    ...file,
    clients: file.clients.map((client) => (client['client_id'] === id ? edit(client) : client)),
  });

  let asked = 0;
  /** Each request has its own address: wrong secrets are limited. */
  function tokenAnswer(world: World, secret: string) {
    const form = { grant_type: 'client_credentials', scope: 'reports.read' };
    asked += 1;
    const address = `10.1.${Math.floor(asked / 250)}.${asked % 250}`;
    return post(world, '/oauth/token', form, {
      authorization: basic('svc', secret),
      'x-forwarded-for': address,
    });
  }

  it('CF-04: a removed client is gone everywhere: its code, its refresh token, its tokens', async () => {
    const [world] = worlds as [World];
    const { tokens } = await signIn(world, { client: 'web2' });
    const open = await authorize(world, { client: 'web2' });
    await change((file) => ({
      ...file,
      clients: file.clients.filter((client) => client['client_id'] !== 'web2'),
    }));
    await everywhere(async (node) => {
      expect((await userinfo(node, tokens.access_token)).status).toBe(401);
      expect(await introspect(node, tokens.access_token)).toEqual({ active: false });
      const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token ?? '' };
      const refreshed = await post(node, '/oauth/token', refresh, { authorization: basic('web2') });
      expect(refreshed).toMatchObject({ status: 401, body: { error: 'invalid_client' } });
      const form = {
        grant_type: 'authorization_code',
        code: open.callback.searchParams.get('code') ?? '',
        redirect_uri: open.redirectUri,
        code_verifier: open.verifier,
      };
      const exchanged = await post(node, '/oauth/token', form, { authorization: basic('web2') });
      expect(exchanged).toMatchObject({ status: 401, body: { error: 'invalid_client' } });
    });
  });

  it('TK-10: secrets overlap under load: no 401 for a client that follows, 401 for the old one afterwards', async () => {
    const [a, b] = [
      'old-secret-Ab3Cd5Ef7Gh9Ij1Kl3Mn5Op7Qr9',
      'new-secret-Zy8Xw6Vu4Ts2Rq0Po8Nm6Lk4Ji2',
    ] as const;
    const secret = (value: string) => ({
      hash: `sha256:${createHash('sha256').update(value).digest('hex')}`,
    });
    const withSecrets =
      (...values: string[]) =>
      (file: File) =>
        withClient(file, 'svc', ({ client_secret: _single, ...client }) => ({
          ...client,
          client_secrets: values.map(secret),
        }));
    await change(withSecrets(a));
    await everywhere(async (node) => expect((await tokenAnswer(node, a)).status).toBe(200));

    let current: string = a;
    let running = true;
    const statuses: number[][] = worlds.map(() => []);
    const load = worlds.map(async (node, index) => {
      while (running) {
        statuses[index]?.push((await tokenAnswer(node, current)).status);
        await sleep(PAUSE_MS);
      }
    });
    await change(withSecrets(a, b));
    await everywhere(async (node) => expect((await tokenAnswer(node, b)).status).toBe(200));
    current = b;
    // Waits for the answers to requests that are in flight with the old secret.
    const arrived = statuses.map(({ length }) => length);
    await expect.poll(() => statuses.every(({ length }, index) => length > (arrived[index] ?? 0))).toBe(true);
    await change(withSecrets(b));
    await everywhere(async (node) => expect((await tokenAnswer(node, a)).status).toBe(401));
    running = false;
    await Promise.all(load);
    expect(new Set(statuses.flat())).toEqual(new Set([200]));
  });

  it('CF-10: a leaked secret is refused everywhere, with a record, and the new one ends what was got with it', async () => {
    const renewed = 'renewed-secret-Kx5Lz6Mb7Nc8Od9Pe0Qf1Rg2Sh3';
    const [first, second] = worlds as [World, World];
    const leaked = [await machineToken(first, 'reports.read'), await machineToken(second, 'reports.write')];
    const before = worlds.map((node) => ({
      changes: changesOf(node).length,
      wrong: auditOf(node, 'client_authentication').length,
    }));
    await change((file) =>
      withClient(file, 'svc', ({ client_secret: _single, ...client }) => ({
        ...client,
        client_secret: renewed,
      })),
    );
    await everywhere(async (node) => expect((await tokenAnswer(node, SECRETS.svc)).status).toBe(401));
    for (const [index, node] of worlds.entries()) {
      const added = { ...before[index] };
      await expect
        .poll(() => changesOf(node).slice(added.changes))
        .toMatchObject([{ outcome: 'success', configuration: (await status(node)).hash }]);
      await expect
        .poll(() => auditOf(node, 'client_authentication').slice(added.wrong).at(-1))
        .toMatchObject({
          outcome: 'failure',
          client_id: 'svc',
          address: expect.stringMatching(/^10\.1\./) as string,
        });
    }
    for (const token of leaked) {
      for (const node of worlds) expect(await introspect(node, token)).toMatchObject({ active: true });
      const headers = { authorization: basic('svc', renewed) };
      expect((await post(first, '/oauth/revoke', { token }, headers)).status).toBe(200);
      for (const node of worlds) expect(await introspect(node, token)).toEqual({ active: false });
    }
  });

  it('CF-04: a client that is removed while the store is away is gone once it is back, and until then /readyz says so', async () => {
    redis.pause();
    try {
      await change((file) => ({
        ...file,
        clients: file.clients.filter(({ client_id: id }) => id !== 'svc'),
      }));
      await everywhere(async (node) => {
        expect((await status(node)).problem).toContain(
          "could not be applied: can't reach the store: no answer in time",
        );
      });
      const [node] = worlds;
      const metrics = await (await fetch(`${node?.management}/metrics`)).text();
      expect(metrics).toContain('postern_configuration_current 0');
    } finally {
      redis.resume();
    }
    await everywhere(async (node) => {
      expect((await status(node)).problem).toBeUndefined();
      expect((await tokenAnswer(node, SECRETS.svc)).status).toBe(401);
    });
  });

  it('CF-01: SIGHUP looks again at a file that did not change: what is broken is reported anew, and the old one serves', async () => {
    const secret = 'plain-secret-Vu7Wx8Yz9Ab0Cd1Ef2Gh3';
    for (const world of worlds) {
      const text = `{ "issuer": "${world.issuer}",\n  "cookie_keys": ["${secret}"],\n  "clients": [ { `;
      await writeFile(world.configFile, text);
    }
    // The file watch finds it, and reports it once.
    await everywhere(async (node) => {
      expect((await status(node)).problem).toContain(`${node.configFile}:3:`);
    });
    for (const node of worlds) {
      await expect.poll(() => changesOf(node).at(-1)?.outcome).toBe('failure');
      await expect.poll(() => serviceOf(node).stderr()).toContain('"line":3');
    }
    const before = await Promise.all(worlds.map(refusals));
    for (const service of services) process.kill(service.pid, 'SIGHUP');
    for (const [index, node] of worlds.entries()) {
      const once = Object.entries(before[index] ?? {}).map(([where, times]) => [where, times + 1]);
      await expect.poll(() => refusals(node), { timeout: DEADLINE_MS }).toEqual(Object.fromEntries(once));
      expect(await machineToken(node, 'reports.read')).toMatch(/^ey/);
      const { stdout, stderr } = serviceOf(node);
      expect(stdout() + stderr()).not.toContain(secret);
      expect(await (await fetch(`${node.management}/readyz`)).text()).not.toContain(secret);
    }
  });
});
