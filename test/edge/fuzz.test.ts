// Random bytes, headers, queries and forms at every endpoint, over raw sockets. Every request gets an answer in good time,
// never a 5xx, and no answer repeats any of it in a form that could do harm.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createClientAddress } from '../../src/http/client-address.ts';
import { MACHINE_MS } from '../world/clock.ts';
import { AUTHORIZATION_REQUEST } from '../world/authorization-request.ts';
import { rounds } from '../world/rounds.ts';
import { basic } from '../world/token-endpoint.ts';
import { FORM, sendBytes, toBytes, type WireAnswer } from '../world/wire.ts';
import { GENEROUS } from '../world/world.ts';
import { useWorld } from '../world/each-store.ts';

const ENDPOINTS = [
  ['POST', '/oauth/token'],
  ['POST', '/oauth/introspect'],
  ['POST', '/oauth/revoke'],
  ['GET', '/oauth/userinfo'],
  ['POST', '/oauth/userinfo'],
  ['GET', '/oauth/authorize'],
  ['POST', '/oauth/authorize'],
  ['GET', '/oauth/logout'],
  ['POST', '/oauth/logout'],
  ['POST', '/oauth/logout/confirm'],
  ['GET', '/oauth/logout/success'],
  ['GET', '/oauth/jwks.json'],
  ['GET', '/.well-known/openid-configuration'],
  ['GET', `/interaction/${'x'.repeat(43)}`],
  ['POST', `/interaction/${'x'.repeat(43)}/login`],
  ['POST', `/interaction/${'x'.repeat(43)}/consent`],
  ['GET', `/oauth/authorize/${'x'.repeat(43)}`],
  ['GET', '/assets/nothing.css'],
] as const;
/** Legitimate requests never take longer, and no input pattern may. Milliseconds. */
const ANSWER_MS = 2000 + MACHINE_MS;
const RUNS = { numRuns: rounds(500, 30) };
const MARK = '<svg/onload=alert(7)>';

const world = useWorld({
  config: {
    ...GENEROUS,
    cors: { allowed_origins: ['https://tools.example'] },
    trusted_proxies: ['127.0.0.1'],
  },
});

async function askHarmless(bytes: string): Promise<WireAnswer> {
  const begun = performance.now();
  const answer = await sendBytes(world().base, bytes);
  const what = JSON.stringify(bytes.slice(0, 2000));
  expect(performance.now() - begun, what).toBeLessThan(ANSWER_MS);
  expect(answer.status, what).toBeGreaterThanOrEqual(200);
  expect(answer.status, what).toBeLessThan(500);
  expectHarmless(answer, what);
  return answer;
}

function expectHarmless({ headers, text }: WireAnswer, what: string): void {
  expect(headers.get('x-content-type-options'), what).toBe('nosniff');
  if (headers.get('content-type')?.startsWith('text/html')) expect(text, what).not.toContain(MARK);
  for (const name of ['x-evil', 'set-evil']) expect(headers.has(name), what).toBe(false);
  const location = headers.get('location');
  if (location !== undefined) expect(location, what).toMatch(/^https?:\/\/[\w.:-]+\//);
}

/** Bytes with a meaning in HTTP, HTML, a query, a shell or a path; and any others. */
const nasty = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    MARK,
    '%',
    '%0',
    '%zz',
    '%00',
    '%0d%0aX-Evil: 1',
    '%0D%0ASet-Evil: 1',
    '\u0000',
    '%ff%fe',
    '%ed%a0%80',
    '%c0%af',
    '__proto__',
    'constructor',
    '[]',
    '[x]',
    '{}',
    '{"a":',
    '[[[[[[[[[[',
    '\u2028',
    '\ud800',
    '\u202e',
    '-1',
    '1e999',
    'NaN',
    'null',
    'true',
    '../../etc/passwd',
    'file:///etc/passwd',
    'javascript:alert(7)',
    '//evil.example',
    'a.b.c',
    '..',
    '.',
    'eyJhbGciOiJub25lIn0.e30.',
    'eyJhbGciOiJSUzI1NiIsImtpZCI6Il9fcHJvdG9fXyJ9.e30.AAAA',
    '*',
    '{tag}x',
    '0'.repeat(500),
    'a'.repeat(900),
  ),
);
const NAMES =
  `grant_type client_id client_secret code redirect_uri code_verifier refresh_token scope resource token
  token_type_hint response_type response_mode state nonce prompt max_age claims login_hint ui_locales
  acr_values display id_token_hint post_logout_redirect_uri logout_hint request request_uri
  code_challenge code_challenge_method access_token csrf username password logout xsrf client_assertion
  client_assertion_type dpop_jkt authorization_details device_code __proto__ constructor`.split(/\s+/);
const KNOWN: Readonly<Record<string, string>> = {
  ...AUTHORIZATION_REQUEST,
  grant_type: 'client_credentials',
};

/** Replaces half a character by U+FFFD, which can be encoded. */
const wellFormed = (text: string) => Buffer.from(text).toString();

/** Half of the names have a valid value, so that these requests pass the first checks. */
const parameters = fc
  .array(fc.tuple(fc.constantFrom(...NAMES), nasty, fc.boolean()), { maxLength: 12 })
  .map((fields) =>
    fields
      .map(
        ([name, value, right]) =>
          `${name}=${right ? encodeURIComponent(KNOWN[name] ?? wellFormed(value)) : value}`,
      )
      .join('&'),
  );
const authorizations = [
  `Authorization: ${basic('svc')}`,
  `Authorization: ${basic('web', 'wrong')}`,
  'Authorization: Bearer x',
  'Accept: text/html',
];
/** Encodes bytes that can't be in a request target: they would only begin another request line. */
const inTarget = (text: string) =>
  text.replaceAll(/[^!-~]/gu, (character) => encodeURIComponent(wellFormed(character)));

describe.each(ENDPOINTS)('%s %s', (method, path) => {
  it('answers any query and any form', async () => {
    await fc.assert(
      fc.asyncProperty(
        parameters,
        parameters,
        fc.constantFrom(...authorizations),
        async (query, form, header) => {
          const body = method === 'POST' ? { body: form } : {};
          await askHarmless(
            toBytes({ method, target: `${path}?${inTarget(query)}`, headers: [header, FORM], ...body }),
          );
        },
      ),
      RUNS,
    );
  });

  it('answers any header', async () => {
    const names =
      `Authorization Cookie Origin Accept Content-Type Accept-Language X-Forwarded-For Forwarded Referer
      If-None-Match Sec-Fetch-Site Range DPoP User-Agent X-Forwarded-Host Access-Control-Request-Headers`.split(
        /\s+/,
      );
    const value = nasty.map((text) => text.replaceAll(/[^\t\u0020-\u007e\u0080-\u00ff]/g, ''));
    const schemes = fc.constantFrom('', 'Basic ', 'Bearer ', 'DPoP ', 'postern_session=', 'text/html,');
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom(...names), schemes, value), { maxLength: 6 }),
        async (headers) => {
          const lines = headers.map(([name, scheme, text]) => `${name}: ${scheme}${text}`);
          await askHarmless(
            toBytes({ method, target: path, headers: lines, ...(method === 'POST' && { body: 'a=b' }) }),
          );
        },
      ),
      RUNS,
    );
  });
});

it('any target is one of ours or is not found', async () => {
  const segment = fc.oneof(
    nasty.map(inTarget),
    fc.constantFrom(...'oauth token authorize .well-known interaction assets .. . %2e%2e ;x'.split(' ')),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('GET', 'POST', 'OPTIONS', 'HEAD', 'PUT'),
      fc.array(segment, { maxLength: 5 }),
      async (method, segments) => {
        const answer = await askHarmless(
          toBytes({ method, target: `/${segments.join('/')}`, headers: ['Accept: text/html'] }),
        );
        expect([200, 204, 303, 400, 401, 404, 405, 413, 415, 431]).toContain(answer.status);
      },
    ),
    { numRuns: 300 },
  );
});

it('any bytes are answered or refused, and the service lives on', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 4, maxLength: 300 }), async (bytes) => {
      const text = Buffer.from(bytes).toString('latin1');
      const answer = await sendBytes(world().base, `${text}\r\n\r\n\r\n\r\n`);
      expect(answer.status).toBe(400);
      expect(answer.text).not.toContain(text);
    }),
    { numRuns: 200 },
  );
});

it('a Basic header of any bytes is refused without a fault', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 100 }), fc.boolean(), async (bytes, colon) => {
      const encoded = Buffer.concat([
        Buffer.from(bytes),
        Buffer.from(colon ? ':' : ''),
        Buffer.from(bytes),
      ]).toString('base64');
      const request = {
        method: 'POST',
        target: '/oauth/token',
        headers: [`Authorization: Basic ${encoded}`, FORM],
        body: 'grant_type=client_credentials',
      };
      const answer = await askHarmless(toBytes(request));
      expect([400, 401]).toContain(answer.status);
    }),
    { numRuns: 200 },
  );
});

it('HT-07: an address rule gives something bounded for any X-Forwarded-For', () => {
  const rule = createClientAddress(['10.0.0.0/8', '::1']);
  const hop = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    nasty,
    fc.ipV4().map((ip) => `::ffff:${ip}`),
    fc.ipV6().map((ip) => `[${ip}]:443`),
  );
  fc.assert(
    fc.property(fc.array(hop, { maxLength: 8 }), (hops) => {
      const address = rule('10.1.2.3', hops.join(', '));
      expect(address).toMatch(/^[\d.]{7,15}$|^[\da-f:]+::\/64$/);
    }),
    { numRuns: 1000 },
  );
});
