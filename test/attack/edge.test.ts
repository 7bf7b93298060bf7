// The edge: hosts, paths, origins, headers and errors, as raw bytes where a client library would correct them.
import { describe, expect, it } from 'vitest';
import { machineToken } from '../world/app.ts';
import { authorizationUrl } from '../world/authorization-request.ts';
import { newBrowser } from '../world/person.ts';
import { introspection, revoke } from '../world/presented-tokens.ts';
import { get, post } from '../world/requests.ts';
import { basic } from '../world/token-endpoint.ts';
import { sendBytes } from '../world/wire.ts';
import { GENEROUS, SPA_ORIGIN, startWorld } from '../world/world.ts';
import { useWorld } from '../world/each-store.ts';

const ALLOWED = 'https://tools.example';
const ISSUER = 'https://id.example';
const world = useWorld({
  issuer: ISSUER,
  config: { ...GENEROUS, cors: { allowed_origins: [ALLOWED] }, trusted_proxies: ['127.0.0.1'] },
});

const DISCOVERY = '/.well-known/openid-configuration';

function urlsIn(text: string): string[] {
  return text.match(/https?:\/\/[^"\s<>]+/g) ?? [];
}

/** Asks over HTTP with these lines for a head. */
const askAs = (lines: string, target: string, version = '1.1') =>
  sendBytes(world().base, `GET ${target} HTTP/${version}\r\n${lines}\r\nConnection: close\r\n\r\n`);

describe('hosts', () => {
  it('HT-01: a forged Host changes no URL, in discovery, pages, redirects or challenges', async () => {
    for (const target of [
      DISCOVERY,
      '/oauth/logout',
      '/oauth/userinfo',
      new URL(authorizationUrl(world())).pathname + new URL(authorizationUrl(world())).search,
    ]) {
      const raw = await askAs('Host: evil.example\r\nAccept: text/html', target);
      expect([200, 303, 401], target).toContain(raw.status);
      expect(`${JSON.stringify([...raw.headers])}${raw.text}`, target).not.toContain('evil.example');
      const location = raw.headers.get('location');
      if (location !== undefined) expect(location.startsWith(`${ISSUER}/`), target).toBe(true);
    }
    const urls = urlsIn((await askAs('Host: evil.example', DISCOVERY)).text);
    expect(urls.length).toBeGreaterThan(5);
    for (const url of urls) expect(url.startsWith(ISSUER)).toBe(true);
  });

  it('HT-02: an absolute-form target is served with our own host, and refused with another', async () => {
    for (const own of [ISSUER, 'http://id.example', 'HTTPS://ID.example']) {
      const answer = await askAs('Host: evil.example', `${own}${DISCOVERY}?x=http://evil.example`);
      expect([answer.status, JSON.parse(answer.text).issuer], own).toEqual([200, ISSUER]);
    }
    for (const target of [
      `http://evil.example${DISCOVERY}`,
      'http://[',
      'http://[::1',
      `https://evil.example/oauth/token`,
      `https://id.example@evil.example${DISCOVERY}`,
      `https://evil.example@id.example${DISCOVERY}`,
      `https://id.example.evil.example${DISCOVERY}`,
      `https://id.example:444${DISCOVERY}`,
      `https://idxexample${DISCOVERY}`,
      `https://id.example`,
      `https://id.example\\@evil.example${DISCOVERY}`,
      `ftp://id.example${DISCOVERY}`,
      '*',
      'evil.example:443',
    ]) {
      const raw = await askAs('Host: id.example', target);
      expect(raw.status, target).toBe(400);
      expect(raw.text, target).not.toContain('evil.example');
    }
  });

  it('HT-03: forwarded hosts are ignored, also from a proxy that is trusted', async () => {
    // Includes the first request, because the service caches the engine's answer.
    const fresh = await startWorld({ issuer: ISSUER, config: { trusted_proxies: ['127.0.0.1'] } });
    const first = await get(fresh, DISCOVERY, { 'x-forwarded-host': 'evil.example' });
    expect(first.text).not.toContain('evil.example');
    await fresh.stop();
    const good = (await get(world(), DISCOVERY)).text;
    const headers: Record<string, string>[] = [
      { 'x-forwarded-host': 'evil.example' },
      { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http', 'x-forwarded-port': '81' },
      { forwarded: 'for=1.2.3.4;host=evil.example;proto=http' },
      { 'x-original-host': 'evil.example', 'x-host': 'evil.example' },
      { 'x-original-url': '/oauth/logout', 'x-rewrite-url': '/oauth/logout' },
      { 'x-forwarded-prefix': '/evil', 'x-forwarded-uri': '/evil' },
    ];
    for (const one of headers) {
      const answer = await get(world(), DISCOVERY, one);
      expect([answer.status, answer.text], JSON.stringify(one)).toEqual([200, good]);
      const page = await newBrowser(world()).request(authorizationUrl(world()), { headers: one });
      expect(page.headers.get('location')?.startsWith(`${ISSUER}/interaction/`), JSON.stringify(one)).toBe(
        true,
      );
      for (const cookie of page.headers.getSetCookie()) expect(cookie).toMatch(/; secure/i);
    }
  });

  it('HT-04: a malformed, repeated or missing Host is 400 and never 500', async () => {
    for (const lines of [
      'Host: a b',
      'Host: a\r\nHost: b',
      'Host: id.example\r\nHost: id.example',
      'Host: ',
      'Host: a,b',
      'Host: a/b',
      'Host: user@id.example',
      'Host: http://id.example',
      'Host: id.example:x',
      'Host: id.example:999999',
      'Host: [::1',
      'Host: <script>',
      "Host: '; --",
      'X-No: host',
    ]) {
      for (const version of ['1.1', '1.0']) {
        const raw = await askAs(lines, DISCOVERY, version);
        expect(raw.status, `${version} ${lines}`).toBe(400);
      }
    }
    const hosts = 'id.example ID.example:443 127.0.0.1:3000 [::1]:3000 xn--bcher-kva.example a_b'.split(' ');
    for (const host of hosts) {
      const raw = await askAs(`Host: ${host}`, DISCOVERY);
      expect(raw.status, host).toBe(200);
    }
  });
});

/** A token request that is valid except for its path or method. */
const target = async (path: string, method = 'POST') =>
  sendBytes(
    world().base,
    `${method} ${path} HTTP/1.1\r\nHost: id.example\r\nAuthorization: ${basic('svc')}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 29\r\nConnection: close\r\n\r\ngrant_type=client_credentials`,
  );

describe('paths', () => {
  it('the request that the others respell works', async () => {
    expect((await target('/oauth/token')).status).toBe(200);
  });

  it.each([
    ['HT-10', '/OAUTH/token'],
    ['HT-10', '/oauth/Token'],
    ['HT-10', '/oauth/token/'],
    ['HT-10', '/oauth/token//'],
    ['HT-11', '/oauth/%74oken'],
    ['HT-11', '/%6fauth/token'],
    ['HT-11', '//oauth/token'],
    ['HT-11', '/oauth//token'],
    ['HT-11', '/./oauth/token'],
    ['HT-11', '/oauth/./token'],
    ['HT-11', '/x/../oauth/token'],
    ['HT-11', '/oauth/token;x=1'],
    ['HT-11', '/oauth;x=1/token'],
    ['HT-11', '/oauth%2ftoken'],
    ['HT-11', '/oauth/token%00'],
    ['HT-11', '/oauth/token%20'],
    ['HT-11', '/oauth/token%0a'],
    ['HT-11', '/oauth\\token'],
    ['HT-11', '/oauth/token#x'],
    ['HT-11', '/oauth/token.json'],
    ['HT-11', '/oauth/token%3Fx'],
    ['HT-11', '/oauth/tok\u00ebn'],
    ['HT-11', '/__proto__'],
    ['HT-11', '/constructor'],
    ['HT-11', '/toString'],
    ['HT-11', '/assets/../oauth/token'],
    ['HT-11', '/assets/..%2f..%2fpackage.json'],
    ['HT-11', '/interaction/../oauth/token'],
  ])('%s: %s is not found', async (_case, path) => {
    const raw = await target(path);
    // Node itself rejects a few of them.
    expect([400, 404], raw.text).toContain(raw.status);
    expect(raw.text).not.toContain('access_token');
    expect((await target(path, 'GET')).status).not.toBe(200);
  });
});

const CORS_PATHS = [
  '/oauth/token',
  '/oauth/userinfo',
  '/oauth/introspect',
  '/oauth/revoke',
  DISCOVERY,
  '/oauth/jwks.json',
];
const EVIL = [
  'https://evil.example',
  'null',
  'https://tools.example.evil.example',
  'https://eviltools.example',
  'https://tools.example https://evil.example',
  'http://tools.example',
  'https://tools.example:444',
  'https://tools.example:443',
  'https://TOOLS.example',
  'https://tools.example/',
  'https://tools.example, https://evil.example',
  `${SPA_ORIGIN}.evil.example`,
  ISSUER,
  '*',
  'https://*.example',
];

async function askWith(path: string, method: string, headers: Record<string, string>): Promise<Response> {
  const body = method === 'POST' ? 'grant_type=client_credentials' : null;
  const type = body === null ? {} : { 'content-type': 'application/x-www-form-urlencoded' };
  return fetch(`${world().base}${path}`, {
    method,
    headers: { ...type, ...headers },
    body,
    redirect: 'manual',
  });
}

function corsHeadersOf({ headers }: Pick<Response, 'headers'>): string[] {
  return [...headers].filter(([name]) => name.startsWith('access-control-')).map(([name]) => name);
}

const methodOf = (path: string) =>
  ['/oauth/userinfo', DISCOVERY, '/oauth/jwks.json'].includes(path) ? 'GET' : 'POST';

describe('origins', () => {
  it('HT-17, HT-19: a preflight from an origin that is not listed, or looks like one, gets nothing', async () => {
    for (const path of CORS_PATHS) {
      for (const origin of EVIL) {
        const headers = {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization',
        };
        const answer = await askWith(path, 'OPTIONS', headers);
        expect(answer.status, path).toBe(204);
        expect(corsHeadersOf(answer), `${path} ${origin}`).toEqual([]);
        expect(answer.headers.get('vary'), path).toMatch(/\bOrigin\b/i);
      }
    }
  });

  it('HT-18, HT-19: neither an answer nor an error tells an origin that is not listed anything', async () => {
    for (const path of CORS_PATHS) {
      for (const origin of EVIL) {
        for (const headers of [
          { origin },
          { origin, authorization: basic('svc') },
          { origin, authorization: basic('svc', 'wrong') },
          { origin, authorization: `Basic ${btoa('nobody:x')}` },
          { origin, authorization: 'Bearer x' },
        ]) {
          const answer = await askWith(path, methodOf(path), headers);
          expect(corsHeadersOf(answer), `${path} ${origin} ${answer.status}`).toEqual([]);
          expect(answer.headers.get('vary'), path).toMatch(/\bOrigin\b/i);
        }
      }
    }
    for (const path of ['/nothing', '/oauth/token/']) {
      for (const origin of ['https://evil.example', ALLOWED]) {
        const answer = await askWith(path, 'POST', { origin });
        expect([answer.status, corsHeadersOf(answer)], path).toEqual([404, []]);
      }
    }
  });

  it('HT-18, HT-20: an allowed origin reads answers and errors, without credentials, and caches may tell it apart', async () => {
    for (const path of CORS_PATHS) {
      for (const headers of [{}, { authorization: basic('svc') }, { authorization: basic('svc', 'wrong') }]) {
        const answer = await askWith(path, methodOf(path), { origin: ALLOWED, ...headers });
        const what = `${path} ${answer.status}`;
        expect(answer.headers.get('access-control-allow-origin'), what).toBe(ALLOWED);
        expect(answer.headers.get('access-control-expose-headers'), what).toBe(
          'Retry-After, WWW-Authenticate',
        );
        expect(answer.headers.get('access-control-allow-credentials'), what).toBeNull();
        expect(answer.headers.get('vary'), what).toMatch(/\bOrigin\b/i);
      }
      const preflight = await askWith(path, 'OPTIONS', {
        origin: ALLOWED,
        'access-control-request-method': 'POST',
      });
      expect([preflight.status, preflight.headers.get('access-control-allow-origin')], path).toEqual([
        204,
        ALLOWED,
      ]);
      expect(preflight.headers.get('access-control-allow-headers'), path).toBe('Authorization, Content-Type');
      expect(preflight.headers.get('access-control-allow-credentials'), path).toBeNull();
      const without = await askWith(path, methodOf(path), {});
      expect(corsHeadersOf(without), path).toEqual([]);
      expect(without.headers.get('vary'), path).toMatch(/\bOrigin\b/i);
    }
  });

  it('HT-21: pages are for nobody’s scripts', async () => {
    const browser = newBrowser(world());
    const login = await browser.open(authorizationUrl(world()));
    for (const url of [
      authorizationUrl(world()),
      login.url,
      `${ISSUER}/oauth/logout`,
      `${ISSUER}/oauth/logout/success`,
    ]) {
      for (const origin of [ALLOWED, SPA_ORIGIN, 'https://evil.example', ISSUER]) {
        const page = await browser.request(url, { headers: { origin } });
        expect(corsHeadersOf(page), url).toEqual([]);
        const preflight = await browser.request(url, {
          method: 'OPTIONS',
          headers: { origin, 'access-control-request-method': 'POST' },
        });
        expect([preflight.status, corsHeadersOf(preflight)], url).toEqual([405, []]);
      }
    }
  });
});

it('HT-31: every answer has the security headers and says nothing of what serves it', async () => {
  const browser = newBrowser(world());
  const login = await browser.open(authorizationUrl(world()));
  const token = await machineToken(world(), 'reports.read');
  const style = /href="([^"]+\.css)"/.exec(login.text)?.[1] ?? '';
  const answers: Record<string, { status: number; headers: Headers }> = {
    login,
    style: await browser.request(style),
    redirect: await browser.request(authorizationUrl(world())),
    refused: await browser.request(authorizationUrl(world(), { redirect_uri: 'x' })),
    logout: await browser.request(`${ISSUER}/oauth/logout`),
    discovery: await get(world(), DISCOVERY),
    jwks: await get(world(), '/oauth/jwks.json'),
    token: await post(world(), '/oauth/token', 'grant_type=client_credentials', {
      authorization: basic('svc'),
    }),
    'token error': await post(world(), '/oauth/token', ''),
    introspection: await introspection(world(), token),
    revocation: await revoke(world(), 'x', 'svc'),
    userinfo: await get(world(), '/oauth/userinfo'),
    'not found': await get(world(), '/nothing'),
    'wrong method': await get(world(), '/oauth/token'),
    preflight: await askWith('/oauth/token', 'OPTIONS', { origin: ALLOWED }),
    'interaction of nobody': await get(world(), `/interaction/${'x'.repeat(43)}`),
    'too large': await post(world(), '/oauth/token', `grant_type=${'x'.repeat(80_000)}`),
  };
  for (const [name, { headers }] of Object.entries(answers)) {
    expect(headers.get('strict-transport-security'), name).toBe('max-age=31536000');
    expect(headers.get('x-content-type-options'), name).toBe('nosniff');
    expect(headers.get('x-frame-options'), name).toBe('DENY');
    expect(headers.get('referrer-policy'), name).toBe('same-origin');
    expect(headers.get('content-security-policy'), name).toContain("default-src 'none'");
    expect(headers.get('server'), name).toBeNull();
    expect(headers.get('x-powered-by'), name).toBeNull();
  }
  // In the order of the requests.
  expect(Object.values(answers).map(({ status }) => status)).toEqual([
    200, 200, 303, 400, 200, 200, 200, 200, 401, 200, 200, 401, 404, 405, 204, 400, 413,
  ]);
  expect(answers['interaction of nobody']?.headers.get('cross-origin-opener-policy')).toBe('same-origin');
});
