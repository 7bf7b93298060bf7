// The limits of a request: sizes, counts, repetitions, methods, credentials. Byte by byte, because client libraries
// would correct most of it.
import { describe, expect, it } from 'vitest';
import { authorizationPath, authorizationUrl } from '../world/authorization-request.ts';
import { until } from '../world/clock.ts';
import { newBrowser } from '../world/person.ts';
import { get } from '../world/requests.ts';
import { basic } from '../world/token-endpoint.ts';
import { FORM, openWire, parseAnswer, sendBytes, toBytes, type WireRequest } from '../world/wire.ts';
import { SECRETS } from '../world/world.ts';
import { useWorld } from '../world/each-store.ts';

const GENEROUS = { authorization: '100000/1m' };
const world = useWorld({ config: { rate_limits: GENEROUS } });
const send = async (request: WireRequest) => sendBytes(world().base, toBytes(request));
/** Shorter than the deadline of a slow body. Milliseconds. */
const BODY_MS = 10_000;
/** Paths that take a form. */
const FORMS = ['token', 'introspect', 'revoke', 'userinfo', 'authorize', 'logout'].map(
  (name) => `/oauth/${name}`,
);
const MACHINE = 'grant_type=client_credentials';
const AUTHORIZATION = `Authorization: ${basic('svc')}`;
const machine = async (headers: readonly string[] = [], body = MACHINE, target = '/oauth/token') =>
  send({ method: 'POST', target, headers: [AUTHORIZATION, FORM, ...headers], body });

/** How many requests got 413, according to the metrics. */
async function countRefused(): Promise<number> {
  const metrics = await (await fetch(`${world().management}/metrics`)).text();
  const counts = metrics.matchAll(/^postern_http_request\w*_count\{[^}]*status="413"[^}]*\} (\d+)/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

const encode = (id: string, secret: string) => `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;

describe('credentials with control bytes', () => {
  const paths = [
    ['/oauth/token', MACHINE],
    ['/oauth/introspect', 'token=x'],
    ['/oauth/revoke', 'token=x'],
  ] as const;

  it.each(paths)('TK-07: a secret padded with NUL and the like is 401 at %s', async (path, body) => {
    for (const padding of ['%00', '%00%00', '\u0000', '%0a', '%0D%0A', '\n', '%7f', '%1F']) {
      const headers = [`Authorization: ${encode('svc', `${SECRETS.svc}${padding}`)}`, FORM];
      const answer = await send({ method: 'POST', target: path, headers, body });
      expect([answer.status, JSON.parse(answer.text).error], padding).toEqual([401, 'invalid_client']);
      expect(answer.headers.get('www-authenticate'), padding).toMatch(/^Basic realm="/);
      expect(answer.headers.get('cache-control'), padding).toBe('no-store');
    }
    const headers = [`Authorization: ${encode('svc%00', SECRETS.svc)}`, FORM];
    expect((await send({ method: 'POST', target: path, headers, body })).status).toBe(401);
  });

  it.each(paths)('TK-07: and at %s in a form', async (path, form) => {
    for (const padding of ['%00', '%00%00', '%0a', '%0D%0A', '%7f']) {
      const body = `${form}&client_id=post&client_secret=${SECRETS.post}${padding}`;
      const answer = await send({ method: 'POST', target: path, headers: [FORM], body });
      expect([answer.status, JSON.parse(answer.text).error], padding).toEqual([401, 'invalid_client']);
    }
  });
});

describe('what is sent twice', () => {
  const REPEATED = [
    'grant_type',
    'client_id',
    'client_secret',
    'scope',
    'code',
    'redirect_uri',
    'code_verifier',
  ];
  it.each(REPEATED)('TK-02: the parameter %s is refused at the token endpoint', async (name) => {
    const once = `${name}=${name === 'grant_type' ? 'authorization_code' : 'x'}`;
    const base = name === 'grant_type' ? '' : 'grant_type=authorization_code&';
    const authentication = name.startsWith('client_') ? [] : [`Authorization: ${basic('web')}`];
    const who = name === 'client_secret' ? '&client_id=post' : '';
    const answer = await send({
      method: 'POST',
      target: '/oauth/token',
      headers: [...authentication, FORM],
      body: `${base}${once}&${once}${who}`,
    });
    expect([answer.status, JSON.parse(answer.text).error]).toEqual([400, 'invalid_request']);
  });

  it.each([
    ['Authorization', [`Authorization: ${basic('web')}`]],
    ['Content-Type', ['Content-Type: text/plain']],
    ['Origin', ['Origin: https://a.example', 'Origin: https://b.example']],
    ['Content-Length', ['Content-Length: 5']],
    ['Host', ['Host: evil.example']],
  ])('the header %s is refused', async (_name, headers) => {
    const answer = await machine(headers);
    expect(answer.status).toBe(400);
    expect(answer.text).not.toContain('access_token');
  });

  it('a length and an encoding in one request are refused, so that a proxy in front reads the same body', async () => {
    const answer = await machine(['Transfer-Encoding: chunked']);
    expect(answer.status).toBe(400);
    const wire = await openWire(world().base);
    wire.write(
      `POST /oauth/token HTTP/1.1\r\nHost: id.example\r\n${AUTHORIZATION}\r\n${FORM}\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`,
    );
    expect(parseAnswer((await wire.ended).received).status).toBe(400);
  });
});

const manyHeaders = (count: number) => Array.from({ length: count }, (_none, index) => `X-${index}: x`);
const manyParameters = (count: number) =>
  Array.from({ length: count }, (_none, index) => `p${index}=x`).join('&');

describe('sizes and counts', () => {
  it('HT-27: a head of more than 16 KiB is 431', async () => {
    for (const headers of [[`Cookie: ${'x'.repeat(17_000)}`], [`X-Long: ${'x'.repeat(17_000)}`]]) {
      const answer = await send({ target: '/oauth/userinfo', headers });
      expect(answer.status).toBe(431);
    }
    expect((await send({ target: `/oauth/logout?x=${'x'.repeat(17_000)}` })).status).toBe(431);
  });

  it('more than a hundred headers are 431', async () => {
    expect((await send({ target: '/oauth/jwks.json', headers: manyHeaders(90) })).status).toBe(200);
    expect((await send({ target: '/oauth/jwks.json', headers: manyHeaders(110) })).status).toBe(431);
  });

  it('HT-25: a body of 57 KiB is 413 at every form, and the connection is closed', async () => {
    for (const target of FORMS) {
      const answer = await machine([], `x=${'x'.repeat(57 * 1024)}`, target);
      expect([answer.status, answer.headers.get('connection')], target).toEqual([413, 'close']);
    }
  });

  it('HT-25: a body that says it is large is refused before it is sent', async () => {
    const wire = await openWire(world().base);
    wire.write(
      `POST /oauth/token HTTP/1.1\r\nHost: id.example\r\n${FORM}\r\nContent-Length: 999999999\r\n\r\nx`,
    );
    const { received, afterMs } = await wire.ended;
    expect(parseAnswer(received).status).toBe(413);
    expect(afterMs).toBeLessThan(BODY_MS);
  });

  const WITH_BODY = [
    '/oauth/token',
    '/oauth/introspect',
    '/oauth/revoke',
    '/oauth/userinfo',
    '/oauth/authorize',
  ];
  it.each(WITH_BODY)('HT-25: an endless chunked body at %s is 413, and is cut off', async (target) => {
    const wire = await openWire(world().base);
    const chunk = `${(15 * 1024).toString(16)}\r\n${'x'.repeat(15 * 1024)}\r\n`;
    wire.write(
      `POST ${target} HTTP/1.1\r\nHost: id.example\r\n${AUTHORIZATION}\r\n${FORM}\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(4)}`,
    );
    const answer = parseAnswer((await wire.ended).received);
    expect([answer.status, answer.headers.get('connection')]).toEqual([413, 'close']);
  });

  it.each(['/oauth/token', '/oauth/authorize'])('HT-25: an endless body at %s is cut off', async (target) => {
    const wire = await openWire(world().base);
    wire.write(
      `POST ${target} HTTP/1.1\r\nHost: id.example\r\n${AUTHORIZATION}\r\n${FORM}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const [before, refusedBefore] = [process.memoryUsage().rss, await countRefused()];
    const chunk = `${(16 * 1024).toString(16)}\r\n${'x'.repeat(16 * 1024)}\r\n`;
    let sent = 0;
    const pump = setInterval(() => {
      if (wire.write(chunk)) sent += chunk.length;
    }, 1);
    const { received, afterMs } = await wire.ended;
    clearInterval(pump);
    // A caller that continues to send may be cut off before it reads the answer, but the request was refused.
    if (received !== '') expect(parseAnswer(received).status).toBe(413);
    await until(async () => expect(await countRefused()).toBe(refusedBefore + 1));
    expect(afterMs).toBeLessThan(BODY_MS);
    expect(sent).toBeLessThan(8 * 1024 * 1024);
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
  });

  it('an honest chunked body is read', async () => {
    const chunked = MACHINE.replaceAll(/.{1,7}/g, (part) => `${part.length.toString(16)}\r\n${part}\r\n`);
    const answer = await sendBytes(
      world().base,
      `POST /oauth/token HTTP/1.1\r\nHost: id.example\r\n${AUTHORIZATION}\r\n${FORM}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n${chunked}0\r\n\r\n`,
    );
    expect(answer.status).toBe(200);
    expect(answer.text).toContain('access_token');
  });

  it('more than a hundred parameters are refused, in a query and in a form', async () => {
    expect((await machine([], `${MACHINE}&${manyParameters(90)}`)).status).toBe(200);
    expect((await machine([], `${MACHINE}&${manyParameters(110)}`)).status).toBe(413);
    expect((await send({ target: `${authorizationPath()}&${manyParameters(90)}` })).status).toBe(303);
    expect((await send({ target: `${authorizationPath()}&${manyParameters(110)}` })).status).toBe(400);
    expect((await send({ target: `/oauth/logout?${'&'.repeat(5000)}` })).status).toBe(400);
  });

  it('a query of more than 12 KiB is refused', async () => {
    expect((await send({ target: authorizationPath({ state: 's'.repeat(4000) }) })).status).toBe(303);
    const answer = await send({ target: authorizationPath({ state: 's'.repeat(13_000) }) });
    expect(answer.status).toBe(400);
    expect(answer.headers.get('location')).toBeUndefined();
  });

  it('a form that would be a longer query than that is refused, also when it only grows by encoding', async () => {
    const body = `login_hint=${'é'.repeat(3000)}`;
    expect((await send({ method: 'POST', target: '/oauth/authorize', headers: [FORM], body })).status).toBe(
      413,
    );
  });

  const LONG = [1500, 7500].map((length) => `"><script>alert(1)</script>${'h'.repeat(length)}`);

  const IGNORED = ['login_hint', 'ui_locales', 'acr_values', 'claims_locales', 'display'];
  it.each(IGNORED)('AZ-30: %s of 8 KB with HTML is ignored, and is never echoed', async (name) => {
    for (const value of LONG) {
      const browser = newBrowser(world());
      const page = await browser.open(authorizationUrl(world(), { [name]: value }));
      expect([page.status, page.text.includes('name="password"')]).toEqual([200, true]);
      expect(page.text).not.toMatch(/<script>alert|hhhh/);
    }
  });

  it.each(['claims', 'prompt'])('AZ-30: %s of 8 KB with HTML is 400, and is never echoed', async (name) => {
    for (const value of LONG) {
      const answer = await send({
        target: authorizationPath({ [name]: value }),
        headers: ['Accept: text/html'],
      });
      expect([answer.status, answer.headers.get('content-type')]).toEqual([400, 'text/html; charset=utf-8']);
      expect(answer.text).not.toMatch(/<script>alert|hhhh/);
    }
  });
});

describe('methods', () => {
  it.each([authorizationPath(), '/oauth/logout'])('AZ-26: HEAD %s is 405 without cookies', async (target) => {
    const answer = await send({ method: 'HEAD', target });
    expect([answer.status, answer.headers.get('allow'), answer.text]).toEqual([405, 'GET, POST', '']);
    expect(answer.headers.get('set-cookie')).toBeUndefined();
    expect(answer.headers.get('location')).toBeUndefined();
  });

  it('HT-34: nothing that claims to be another method changes it', async () => {
    for (const header of ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override']) {
      expect((await send({ target: '/oauth/token', headers: [`${header}: POST`] })).status).toBe(405);
      expect((await machine([`${header}: GET`])).status).toBe(200);
    }
    expect((await send({ target: '/oauth/token?_method=POST' })).status).toBe(405);
    expect((await machine([], `${MACHINE}&_method=DELETE`)).status).toBe(200);
  });

  it.each(['TRACE', 'PROPFIND', 'PURGE', 'M-SEARCH'])('%s is 405', async (method) => {
    const answer = await send({ method, target: '/oauth/token' });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST, OPTIONS']);
  });

  it('BREW, which is no method that Node knows, is 400', async () => {
    const answer = await send({ method: 'BREW', target: '/oauth/token' });
    expect(answer.status).toBe(400);
  });

  it.each(['/oauth/token', 'evil.example:443'])('CONNECT %s opens nothing', async (target) => {
    const wire = await openWire(world().base);
    wire.write(`CONNECT ${target} HTTP/1.1\r\nHost: id.example\r\n\r\n`);
    // Node closes the connection without an answer.
    expect((await wire.ended).received).toBe('');
  });
});

describe('HT-30: names that mean something to the language', () => {
  const POLLUTED = [
    '__proto__[x]=1',
    '__proto__.x=1',
    'constructor[prototype][x]=1',
    '__proto__=1',
    'constructor=1&prototype=1&hasOwnProperty=1&toString=1',
  ];

  it.each(POLLUTED)('%s changes nothing in any form or query', async (parameters) => {
    for (const target of FORMS) {
      const answer = await machine([], `${parameters}&${MACHINE}&token=x`, target);
      expect(answer.status, target).toBeLessThan(500);
    }
    for (const path of ['/oauth/authorize', '/oauth/logout', '/oauth/userinfo', '/oauth/jwks.json']) {
      expect((await send({ target: `${path}?${parameters}` })).status, path).toBeLessThan(500);
    }
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
    expect(Object.prototype).not.toHaveProperty('x');
  });
});

describe('answers', () => {
  it('HT-32: each carries a request id of its own: a header for programs, a line of the page for users', async () => {
    const seen = new Set<string>();
    for (const path of ['/oauth/jwks.json', '/oauth/userinfo', '/.well-known/openid-configuration']) {
      const id = (await get(world(), path)).headers.get('x-request-id') ?? '';
      expect(id, path).toMatch(/^[\da-f]{8}-[\da-f-]{27}$/);
      seen.add(id);
    }
    expect(seen.size).toBe(3);
    const refused = await machine([], `x=${'x'.repeat(57 * 1024)}`);
    expect(JSON.parse(refused.text)).toHaveProperty('request_id', refused.headers.get('x-request-id'));
    for (const path of ['/oauth/authorize?x=y', '/oauth/logout?id_token_hint=x']) {
      const page = await get(world(), path, { accept: 'text/html' });
      expect(page.text, path).toMatch(/<code>[\da-f]{8}-[\da-f-]{27}<\/code>/);
    }
  });

  it('HT-32: what is no request at all gets an answer without a stack or a version', async () => {
    for (const bytes of [
      '\r\n\r\n\r\nx\r\n\r\n',
      'GET\r\n\r\n',
      'GET / HTTP/9.9\r\n\r\n',
      '\u0016\u0003\u0001\u0002\u0000\u0001',
      'GET /\u0000 HTTP/1.1\r\n\r\n',
    ]) {
      const answer = await sendBytes(world().base, bytes);
      expect(answer.status, JSON.stringify(bytes)).toBe(400);
      expect([answer.headers.get('server'), answer.text]).toEqual([undefined, '']);
    }
  });

  const NOT_HTTP = [
    '\u0016\u0003\u0001',
    'GET /x HTTP/9.9\r\n\r\n',
    'CONNECT evil.example:443 HTTP/1.1\r\n\r\n',
  ];
  it.each(NOT_HTTP)('requests before %j on a connection are answered, and it closes', async (garbage) => {
    const token = toBytes({
      method: 'POST',
      target: '/oauth/token',
      headers: [AUTHORIZATION, FORM],
      body: MACHINE,
    });
    const requests = [token, toBytes({ target: '/oauth/jwks.json' }), token].join('');
    const wire = await openWire(world().base);
    wire.write(`${requests.replaceAll('Connection: close\r\n', '')}${garbage}`);
    const { received } = await wire.ended;
    expect([...received.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status)).toEqual([
      '200',
      '200',
      '200',
      ...(garbage.startsWith('CONNECT') ? [] : ['400']),
    ]);
    expect(received.match(/access_token/g)).toHaveLength(2);
  });
});
