// Findings of the doctor that a proxy in front can't cause: they depend on the time, on the store, or on a service that
// doesn't run.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask } from '../../../src/features/doctor/ask.ts';
import {
  type Check,
  type ReportFault,
  type Result,
  runCheck,
  type Target,
} from '../../../src/features/doctor/check.ts';
import { judgeCookies } from '../../../src/features/doctor/sign-in.ts';
import { checkStore } from '../../../src/features/doctor/store.ts';
import { checkTls } from '../../../src/features/doctor/tls.ts';
import { freePort, startRedis } from '../../world/servers.ts';
import { postern } from '../../world/terminal.ts';
import { startWorld, type World } from '../../world/world.ts';
import { type Front, makeFront } from './front.ts';
import { answerWith } from '../../world/answer-with.ts';

const DAY = 24 * 60 * 60 * 1000;

let world: World;
let front: Front;
let target: Target;

beforeAll(async () => {
  world = await startWorld();
  front = await makeFront();
  await front.serve({ upstream: new URL(world.base).host });
  target = { issuer: world.issuer, at: world.base, config: undefined, ask, now: () => Date.now() };
});
afterAll(async () => {
  await front.stop();
  await world.stop();
});

const names = (results: readonly Result[]) => results.map(({ level, name }) => `${level} ${name}`);
const run = async (check: Check, changes: Partial<Target> = {}) =>
  names(await runCheck(check.name, (report) => check({ ...target, ...changes }, report)));

describe('TLS', () => {
  it('follows the certificate through its time', async () => {
    const at = `https://localhost:${front.port}`;
    const later = (days: number) => run(checkTls, { at, now: () => Date.now() + days * DAY });
    // This process doesn't trust the issuer of that certificate.
    expect(await later(0)).toEqual(['problem certificate-refused']);
    expect(await later(50)).toEqual(['problem certificate-refused', 'warning certificate-expires']);
  });

  it('is wanted everywhere but on this machine, and is no plain http', async () => {
    expect(await run(checkTls)).toEqual(['ok checkTls']);
    expect(await run(checkTls, { at: 'http://id.example.com' })).toEqual(['problem plain-http']);
    const at = world.base.replace('http:', 'https:');
    expect(await run(checkTls, { at })).toEqual(['problem tls-failed']);
  });
});

describe('cookies', () => {
  const judge = (...headers: string[]) => {
    const found: string[] = [];
    const report: ReportFault = (fault) => void found.push(fault);
    judgeCookies('https://id.example.com', headers, report);
    return found;
  };
  const good = 'path=/; secure; httponly; SameSite=Lax';

  it('HT-08: are as Postern set them, or are altered', () => {
    expect(
      judge(`__Host-a=1; ${good}`, `__Secure-b=x=y; ${good.replace('path=/', 'path=/interaction/z')}`),
    ).toEqual([]);
    expect(judge()).toEqual(['cookies-altered']);
    expect(judge(`a=1; ${good}`)).toEqual(['cookies-altered']);
    for (const bad of ['secure; ', 'httponly; ', '; SameSite=Lax'])
      expect(judge(`__Secure-a=1; ${good.replace(bad, '')}`), bad).toEqual(['cookies-altered']);
    expect(judge(`__Secure-a=1; ${good}; Domain=example.com`)).toEqual(['cookies-altered']);
    expect(judge(`__Host-a=1; ${good.replace('path=/', 'path=/auth')}`)).toEqual(['cookies-altered']);
  });
});

it('the store is judged by what its server says of itself', async () => {
  const redis = await startRedis({ settings: ['--maxmemory-policy', 'allkeys-lru'] });
  const look = () => runCheck('store', (report) => checkStore({ engine: 'redis', url: redis.url }, report));
  const results = await look();
  await redis.stop();
  expect(names(results)).toContain('problem store-settings');
  expect(results.map(({ message }) => message).join('\n')).toContain('noeviction');
  expect(names(await look())).toEqual(['problem store-unreachable']);
});

it('the public address answers to nobody, redirects, or is somebody else', async () => {
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
