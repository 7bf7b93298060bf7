import { describe, expect, it } from 'vitest';
import { useWorld } from '../world/each-store.ts';
import { authorize } from '../world/app.ts';
import { get, post } from '../world/requests.ts';
import { basic, redeem } from '../world/token-endpoint.ts';
import { raw } from '../world/raw.ts';

const GLOBAL = 'https://global.example';
const EVIL = 'https://evil.example';
const MACHINE = { grant_type: 'client_credentials' };

function corsOf(headers: Headers): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-')));
}

describe('Spec §4 CORS allowlist', () => {
  const world = useWorld({
    config: { cors: { allowed_origins: [GLOBAL] }, rate_limits: { userinfo: '20/1m' } },
  });

  const REQUESTS = [
    ['POST /oauth/token', async (origin: string) => machine(origin)],
    ['GET /oauth/userinfo', async (origin: string) => get(world(), '/oauth/userinfo', { origin })],
    [
      'POST /oauth/introspect',
      async (origin: string) => asClient('/oauth/introspect', { token: 'x' }, origin, 'rs1'),
    ],
    [
      'POST /oauth/revoke',
      async (origin: string) => asClient('/oauth/revoke', { token: 'x' }, origin, 'web'),
    ],
    ['GET /oauth/jwks.json', async (origin: string) => get(world(), '/oauth/jwks.json', { origin })],
    [
      'GET /.well-known/openid-configuration',
      async (origin: string) => get(world(), '/.well-known/openid-configuration', { origin }),
    ],
  ] as const;

  async function asClient(
    path: string,
    form: Record<string, string>,
    origin: string,
    client: 'svc' | 'rs1' | 'web',
  ) {
    return post(world(), path, form, { origin, authorization: basic(client) });
  }
  const machine = async (origin: string) => asClient('/oauth/token', MACHINE, origin, 'svc');

  it.each(REQUESTS)('lets an allowed origin read %s, without credentials', async (_name, request) => {
    const { headers, status } = await request(GLOBAL);
    expect(status).not.toBe(429);
    expect(corsOf(headers)).toEqual({
      'access-control-allow-origin': GLOBAL,
      'access-control-expose-headers': 'Retry-After, WWW-Authenticate',
    });
    expect(headers.get('vary')).toBe('Origin');
  });

  it.each([
    ['a wrong secret', { ...MACHINE }, { authorization: basic('svc', 'wrong') }, 401],
    ['an unknown client', { ...MACHINE, client_id: 'unknown' }, {}, 401],
    ['no client', MACHINE, {}, 401],
    ['an unknown scope', { ...MACHINE, scope: 'nope' }, { authorization: basic('svc') }, 400],
    ['a body of another type', MACHINE, { 'content-type': 'text/plain' }, 400],
  ])('is the same on the error of %s', async (_case, form, headers, status) => {
    for (const [origin, allowed] of [
      [GLOBAL, GLOBAL],
      [EVIL, null],
    ] as const) {
      const answer = await post(world(), '/oauth/token', form, { ...headers, origin });
      expect(answer.status).toBe(status);
      expect(answer.headers.get('access-control-allow-origin')).toBe(allowed);
    }
  });

  it('answers the preflight of an allowed origin', async () => {
    const answer = await raw(world().base, {
      method: 'OPTIONS',
      target: '/oauth/token',
      headers: { origin: GLOBAL, 'access-control-request-method': 'POST' },
    });
    expect([answer.status, answer.text]).toEqual([204, '']);
    const cors = Object.entries(answer.headers).filter(([name]) => name.startsWith('access-control-'));
    expect(Object.fromEntries(cors)).toEqual({
      'access-control-allow-origin': GLOBAL,
      'access-control-allow-methods': 'GET, POST',
      'access-control-allow-headers': 'Authorization, Content-Type',
      'access-control-max-age': '600',
    });
  });

  it('lets an allowed origin read 429 and its Retry-After, and an evil one not', async () => {
    let answer = await get(world(), '/oauth/userinfo', { origin: GLOBAL });
    for (let count = 0; answer.status !== 429 && count < 25; count += 1) {
      answer = await get(world(), '/oauth/userinfo', { origin: GLOBAL });
    }
    expect(answer.status).toBe(429);
    expect(answer.headers.get('access-control-allow-origin')).toBe(GLOBAL);
    expect(answer.headers.get('access-control-expose-headers')).toBe('Retry-After, WWW-Authenticate');
    expect(corsOf((await get(world(), '/oauth/userinfo', { origin: EVIL })).headers)).toEqual({});
  });

  it('is empty where the file names no origin', async () => {
    const code = await authorize(world(), { scope: 'openid' });
    const answer = await redeem(world(), code);
    expect(corsOf(answer.headers)).toEqual({});
  });
});
