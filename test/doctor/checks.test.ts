// Checks of the doctor that a proxy in front can't bring about: what depends on the time, on the store, and on there being
// no service at all.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ask } from '../../src/doctor/ask.ts';
import { checkClock } from '../../src/doctor/clock.ts';
import { judgeCookies, parseCookie } from '../../src/doctor/cookies.ts';
import type { Examination } from '../../src/doctor/examination.ts';
import type { Finding } from '../../src/doctor/finding.ts';
import { checkPlainHttp, judgePlainHttp } from '../../src/doctor/plain-http.ts';
import { checkRunning } from '../../src/doctor/running.ts';
import { checkStore } from '../../src/doctor/store.ts';
import { checkTls } from '../../src/doctor/tls.ts';
import { freePort, startRedis } from '../servers.ts';
import { postern } from '../unit/cli/terminal.ts';
import { startWorld, type World } from '../world/world.ts';
import { makeFront, type Front } from './front.ts';

const DAY = 24 * 60 * 60 * 1000;

let world: World;
let front: Front;
let examination: Examination;
const servers: Server[] = [];

beforeAll(async () => {
  world = await startWorld();
  front = await makeFront();
  await front.serve({ upstream: new URL(world.base).host });
  examination = {
    issuer: world.issuer,
    at: world.base,
    direct: undefined,
    config: undefined,
    ask,
    now: () => Date.now(),
  };
});
afterAll(async () => {
  for (const server of servers) server.close();
  await front.stop();
  await world.stop();
});

const names = (findings: readonly Finding[]) => findings.map(({ level, name }) => `${level} ${name}`);

async function answerWith(handle: RequestListener): Promise<number> {
  const server = createServer(handle);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

describe('the clock', () => {
  it('agrees, is off, or is wrong, either way', async () => {
    const shifted = (seconds: number) =>
      checkClock({ ...examination, now: () => Date.now() + seconds * 1000 });
    expect(names(await shifted(0))).toEqual(['ok clock']);
    expect(names(await shifted(30))).toEqual(['warning clock-off']);
    expect(names(await shifted(-30))).toEqual(['warning clock-off']);
    expect(names(await shifted(300))).toEqual(['problem clock-wrong']);
    expect(names(await shifted(-300))).toEqual(['problem clock-wrong']);
  });
});

describe('TLS', () => {
  it('follows the certificate through its time', async () => {
    const later = async (days: number) => {
      const at = `https://localhost:${front.port}`;
      return names(await checkTls({ ...examination, at, now: () => Date.now() + days * DAY }));
    };
    // Its issuer is nobody's authority in this process.
    expect(await later(0)).toEqual(['problem certificate-untrusted']);
    expect(await later(50)).toEqual(['warning certificate-expires', 'problem certificate-untrusted']);
    expect(await later(61)).toEqual(['problem certificate-expired', 'problem certificate-untrusted']);
    expect(await later(-1)).toEqual(['problem certificate-not-yet-valid', 'problem certificate-untrusted']);
  });

  it('is wanted everywhere but on this machine, and is no plain http', async () => {
    expect(names(await checkTls(examination))).toEqual(['ok tls']);
    expect(names(await checkTls({ ...examination, at: 'http://id.example.com' }))).toEqual([
      'problem plain-http',
    ]);
    expect(names(await checkTls({ ...examination, at: world.base.replace('http:', 'https:') }))).toEqual([
      'problem tls-failed',
    ]);
  });
});

describe('plain http beside https', () => {
  it('HT-08: is a problem only when it serves', async () => {
    const judge = async (plain: string) => names(await judgePlainHttp(plain, ask));
    expect(await judge(world.base)).toEqual(['problem plain-http-open']);
    const redirecting = await answerWith((_, response) =>
      response.writeHead(301, { location: 'https://x' }).end(),
    );
    expect(await judge(`http://127.0.0.1:${redirecting}`)).toEqual(['ok plain-http']);
    expect(await judge(`http://127.0.0.1:${await freePort()}`)).toEqual(['ok plain-http']);
    expect(names(await checkPlainHttp({ ...examination, at: 'https://localhost:8443' }))).toEqual([]);
  });
});

describe('cookies', () => {
  const secure = { issuer: 'https://id.example.com' };
  const judge = (...headers: string[]) => names(judgeCookies(secure, headers.map(parseCookie)));
  const good = 'path=/; secure; httponly; SameSite=Lax';

  it('HT-08: are as Postern set them, or are named by what was done to them', () => {
    expect(
      judge(`__Host-a=1; ${good}`, `__Secure-b=x=y; ${good.replace('path=/', 'path=/interaction/z')}`),
    ).toEqual([]);
    expect(judge()).toEqual(['problem cookies-stripped']);
    expect(judge(`a=1; ${good}`)).toEqual(['problem cookies-renamed']);
    for (const bad of ['secure; ', 'httponly; ', '; SameSite=Lax'])
      expect(judge(`__Secure-a=1; ${good.replace(bad, '')}`), bad).toEqual(['problem cookies-altered']);
    expect(judge(`__Secure-a=1; ${good}; Domain=example.com`)).toEqual(['problem cookies-altered']);
    expect(judge(`__Host-a=1; ${good.replace('path=/', 'path=/auth')}`)).toEqual(['problem cookies-altered']);
  });
});

describe('the store', () => {
  it('is told about as by `postern store check`', async () => {
    const redis = await startRedis({ settings: ['--maxmemory-policy', 'allkeys-lru'] });
    const findings = await checkStore({ engine: 'redis', url: redis.url });
    await redis.stop();
    expect(names(findings)).toContain('problem store-settings');
    expect(findings.map(({ message }) => message).join('\n')).toContain('noeviction');
    expect(names(await checkStore({ engine: 'redis', url: redis.url }))).toEqual([
      'problem store-unreachable',
    ]);
  });
});

describe('the running service', () => {
  const check = (port: number, hash?: string) =>
    checkRunning({ management: { host: '127.0.0.1', port }, hash, ask });

  it('is not there, is another program, or says what is wrong', async () => {
    expect(names(await check(await freePort()))).toEqual(['skipped running']);
    expect(names(await check(await answerWith((_, response) => response.end('hello'))))).toEqual([
      'problem management-wrong',
    ]);
    const unready = await answerWith((_, response) => {
      response.statusCode = 503;
      const configuration = { hash: 'a', problem: 'postern.yaml:3 issuer: is required' };
      response.end(JSON.stringify({ status: 'not ready', problems: ['no store'], configuration }));
    });
    const uneven = await answerWith((_, response) => {
      const configuration = { hash: 'a', workers: [{ worker: 1, hash: 'a' }, { worker: 2 }] };
      response.end(JSON.stringify({ status: 'ready', problems: [], configuration }));
    });
    expect(names(await check(uneven, 'a'))).toEqual(['problem workers-differ']);
    const findings = await check(unready, 'a');
    expect(names(findings)).toEqual(['problem not-ready', 'problem configuration-refused']);
    expect(findings.map(({ message }) => message).join('\n')).toMatch(/no store[^]*issuer: is required/);
  });
});

describe('the public address', () => {
  it('answers to nobody, redirects, or is somebody else', async () => {
    const diagnose = async (port: number) => {
      const { code, stdout } = await postern(['doctor', '--url', `http://127.0.0.1:${port}`]);
      expect(code).toBe(1);
      return stdout;
    };
    expect(await diagnose(await freePort())).toMatch(/^problem {2}no-answer: .* ECONNREFUSED$/m);
    const redirecting = await answerWith((_, response) => response.writeHead(301, { location: '/x' }).end());
    expect(await diagnose(redirecting)).toMatch(/^problem {2}discovery-redirected: /m);
    const other = await answerWith((_, response) => response.end('hello'));
    expect(await diagnose(other)).toMatch(/^problem {2}not-postern: /m);
    expect((await postern(['doctor', '--url', 'id.example.com'])).stderr).toMatch(/^--url must be/);
  });
});
