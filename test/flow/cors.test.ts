import { describe, expect, it } from 'vitest';
import { useWorld } from '../world/each-store.ts';
import { get } from '../world/requests.ts';
import { raw } from '../world/raw.ts';

const GLOBAL = 'https://global.example';
const EVIL = 'https://evil.example';

function corsOf(headers: Headers): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-')));
}

describe('Spec §4 CORS allowlist', () => {
  const world = useWorld({
    config: { cors: { allowed_origins: [GLOBAL] }, rate_limits: { userinfo: '20/1m' } },
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
});
