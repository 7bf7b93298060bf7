// Answers that anyone may cache or read: the same for every caller, with CORS on refusals too.
import { describe, expect, it } from 'vitest';
import { useWorld } from '../world/each-store.ts';
import { type Answer, post } from '../world/requests.ts';
import { sendBytes, toBytes } from '../world/wire.ts';

const DISCOVERY = '/.well-known/openid-configuration';
const JWKS = '/oauth/jwks.json';
const ALLOWED = 'https://tools.example';
const ISSUER = 'https://id.example';

describe('discovery and JWKS', () => {
  const world = useWorld({
    issuer: ISSUER,
    config: { cors: { allowed_origins: [ALLOWED] }, trusted_proxies: ['127.0.0.1'] },
  });
  const ODD: readonly string[][] = [
    ['X-Forwarded-Host: evil.example', 'X-Forwarded-Proto: http', 'X-Forwarded-Port: 81'],
    ['Forwarded: for=1.2.3.4;host=evil.example;proto=http'],
    ['X-Original-URL: /oauth/logout', 'X-Rewrite-URL: /oauth/logout'],
    ['Origin: https://evil.example'],
    [`Origin: ${ALLOWED}`],
    ['Origin: null', 'Cookie: postern_session=x'],
    ['Accept: text/html', 'Accept-Language: de', 'User-Agent: x'],
    ['Authorization: Bearer x', 'X-Http-Method-Override: POST'],
    ['Range: bytes=0-1', 'If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT'],
  ];

  it.each([DISCOVERY, JWKS, '/.well-known/oauth-authorization-server'])(
    'HT-22: %s is the same for every caller, may be kept, and sets no cookie',
    async (target) => {
      const first = await sendBytes(world().base, toBytes({ target }));
      for (const headers of ODD) {
        for (const query of ['', '?x=1', '?utm_source=evil.example']) {
          const answer = await sendBytes(world().base, toBytes({ target: `${target}${query}`, headers }));
          expect([answer.status, answer.text], headers.join()).toEqual([200, first.text]);
          expect(answer.headers.get('etag'), headers.join()).toBe(first.headers.get('etag'));
          expect(answer.headers.get('cache-control')).toMatch(/^public, max-age=\d+, must-revalidate$/);
          expect(answer.headers.has('set-cookie')).toBe(false);
          expect(answer.headers.get('vary')).toBe('Origin');
        }
      }
    },
  );
});

function expectReadable({ headers }: Answer, origin: string | null): void {
  expect(headers.get('access-control-allow-origin')).toBe(origin);
  expect(headers.get('access-control-allow-credentials')).toBeNull();
  expect(headers.get('vary')).toBe('Origin');
  if (origin !== null)
    expect(headers.get('access-control-expose-headers')).toBe('Retry-After, WWW-Authenticate');
}

describe('HT-18: refusals of the edge itself', () => {
  const world = useWorld({ config: { cors: { allowed_origins: [ALLOWED] } } });

  it('400, 401 and 413 are for an allowed origin to read, and for no other', async () => {
    const padded = `Basic ${Buffer.from('svc:x%00').toString('base64')}`;
    const refusals: readonly [number, string, Record<string, string>][] = [
      [401, 'grant_type=client_credentials', { authorization: padded }],
      [413, `x=${'x'.repeat(60_000)}`, {}],
      [400, '', { 'content-type': 'application/json' }],
    ];
    for (const [status, form, headers] of refusals) {
      for (const [origin, allowed] of [
        [ALLOWED, ALLOWED],
        ['https://evil.example', null],
      ] as const) {
        const answer = await post(world(), '/oauth/token', form, { ...headers, origin });
        expect(answer.status).toBe(status);
        expectReadable(answer, allowed);
      }
    }
  });
});
