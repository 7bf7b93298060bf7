import { decodeJwt } from 'jose';
import { buildEndSessionUrl } from 'openid-client';
import { describe, expect, it } from 'vitest';
import { authorize, machineToken, signIn } from '../world/app.ts';
import { authorizationPath } from '../world/authorization-request.ts';
import { formOf } from '../world/browser.ts';
import { newBrowser } from '../world/person.ts';
import { introspect, userinfo } from '../world/presented-tokens.ts';
import { API, PASSWORDS } from '../world/world.ts';
import { useWorld } from '../world/each-store.ts';
import { get } from '../world/requests.ts';
import { raw } from '../world/raw.ts';

const ISSUER = 'https://id.example/auth';
const AUTHORIZE = `/auth${authorizationPath()}`;
const FORGED = [
  ['Host', { host: 'evil.example' }],
  ['X-Forwarded-Host', { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http' }],
  ['Forwarded', { forwarded: 'host=evil.example;proto=http' }],
  ['X-Forwarded-Prefix', { 'x-forwarded-prefix': '/evil', 'x-original-url': '/evil' }],
] as const;

const attributesAt = (path: string) => ['httponly', `path=${path.toLowerCase()}`, 'samesite=lax', 'secure'];

const ORIGIN = 'https://inspector.example';

describe('an issuer with a path', () => {
  const world = useWorld({ issuer: ISSUER, config: { cors: { allowed_origins: [ORIGIN] } } });

  it.each([
    '/auth/.well-known/openid-configuration',
    '/auth/.well-known/oauth-authorization-server',
    '/.well-known/openid-configuration/auth',
    '/.well-known/oauth-authorization-server/auth',
  ])('MC-42: has its discovery document at %s, cached and open to scripts alike', async (target) => {
    const answer = await raw(world().base, { target, headers: { origin: ORIGIN } });
    const usual = await raw(world().base, {
      target: '/auth/.well-known/openid-configuration',
      headers: { origin: ORIGIN },
    });
    expect(answer.status).toBe(200);
    expect(answer.text).toBe(usual.text);
    const named = ['etag', 'cache-control', 'content-type', 'access-control-allow-origin', 'vary'];
    expect(named.map((name) => [name, answer.headers[name]])).toEqual(
      named.map((name) => [name, usual.headers[name] ?? 'a header']),
    );
    const document = JSON.parse(answer.text) as Record<string, string>;
    expect(document['issuer']).toBe(ISSUER);
    expect(document['authorization_endpoint']).toBe(`${ISSUER}/oauth/authorize`);
    expect(document['token_endpoint']).toBe(`${ISSUER}/oauth/token`);
    expect(document['userinfo_endpoint']).toBe(`${ISSUER}/oauth/userinfo`);
    expect(document['jwks_uri']).toBe(`${ISSUER}/oauth/jwks.json`);
    expect(document['introspection_endpoint']).toBe(`${ISSUER}/oauth/introspect`);
    expect(document['revocation_endpoint']).toBe(`${ISSUER}/oauth/revoke`);
    expect(document['end_session_endpoint']).toBe(`${ISSUER}/oauth/logout`);
  });

  it.each([
    '/.well-known/openid-configuration',
    '/oauth/jwks.json',
    '/auth',
    '/authoauth/jwks.json',
    '/auth/auth/oauth/jwks.json',
    '/auth//oauth/jwks.json',
  ])('is nowhere else: %s is 404', async (target) => {
    expect((await raw(world().base, { target })).status).toBe(404);
  });

  const ELSEWHERE = ['/auth/.well-known/openid-configuration', '/.well-known/openid-configuration/auth'];
  it.each(ELSEWHERE)('HT-22: sets no cookie at %s, whatever language is requested', async (path) => {
    const answer = await raw(world().base, { target: `${path}?lang=de` });
    expect(answer.status).toBe(200);
    expect(answer.headers['set-cookie']).toBeUndefined();
  });

  it('signs a person in, and out again', async () => {
    const { tokens, browser, configuration, callback } = await signIn(world());
    expect(callback.searchParams.get('iss')).toBe(ISSUER);
    expect(decodeJwt(tokens.access_token)).toMatchObject({ iss: ISSUER, aud: ['urn:example:api', ISSUER] });
    expect((await userinfo(world(), tokens.access_token)).status).toBe(200);
    expect(await introspect(world(), tokens.access_token)).toMatchObject({ active: true, iss: ISSUER });

    const url = buildEndSessionUrl(configuration, {
      id_token_hint: tokens.id_token ?? '',
      post_logout_redirect_uri: 'https://app.example/out',
      state: 's',
    });
    const ask = await browser.open(url.href);
    expect(formOf(ask, '/confirm').action).toBe(`${ISSUER}/oauth/logout/confirm`);
    const left = await browser.submit(ask, '/confirm', { logout: 'yes' });
    expect(left.url).toBe('https://app.example/out?state=s');
  });

  it('gives machine tokens of that issuer', async () => {
    expect(decodeJwt(await machineToken(world()))).toMatchObject({ iss: ISSUER, aud: API });
  });

  it('sets cookies that are Secure, HttpOnly, Lax, prefixed, and no wider than they need to be', async () => {
    const browser = newBrowser(world());
    const start = await browser.request(`${ISSUER}${AUTHORIZE.slice('/auth'.length)}`);
    const uid = start.headers.get('location')?.split('/').at(-1) ?? '';
    const nameAndRest = start.headers.getSetCookie().map((cookie) => {
      const [pair = '', ...attributes] = cookie.toLowerCase().split('; ');
      return [
        pair.split('=')[0]?.replace(uid.toLowerCase(), 'uid'),
        attributes.filter((one) => !/^(?:expires|max-age)=/.test(one)).toSorted(),
      ];
    });
    expect(Object.fromEntries(nameAndRest)).toEqual({
      '__host-postern_browser-auth.uid': attributesAt('/'),
      '__secure-postern_interaction-auth': attributesAt(`/auth/interaction/${uid}`),
      '__secure-postern_interaction-auth.sig': attributesAt(`/auth/interaction/${uid}`),
      '__secure-postern_resume-auth': attributesAt(`/auth/oauth/authorize/${uid}`),
      '__secure-postern_resume-auth.sig': attributesAt(`/auth/oauth/authorize/${uid}`),
    });

    const login = await browser.open(start.headers.get('location') ?? '');
    const form = formOf(login, '/login');
    expect(form.action).toBe(`${ISSUER}/interaction/${uid}/login`);
    const answered = await browser.send(login, '/login', { username: 'alice', password: PASSWORDS.alice });
    expect(answered.status).toBe(303);
    const session = answered.headers
      .getSetCookie()
      .find((one) => one.startsWith('__Host-postern_session-auth='));
    expect(session?.toLowerCase().split('; ').slice(1)).toEqual(
      expect.arrayContaining(['path=/', 'secure', 'httponly', 'samesite=lax']),
    );
    expect(session?.toLowerCase()).not.toContain('domain=');
  });

  it('serves what its pages load', async () => {
    const browser = newBrowser(world());
    const page = await browser.open(`${ISSUER}${AUTHORIZE.slice('/auth'.length)}`);
    const all = [...page.text.matchAll(/(?:href|src|action)="([^"]+)"/g)].map(([, url = '']) => url);
    for (const url of all) expect(url).toMatch(`${ISSUER}/`);
    const urls = all.filter((url) => url.startsWith(`${ISSUER}/assets/`));
    expect(urls.length).toBeGreaterThan(1);
    for (const url of urls) {
      expect((await get(world(), url.slice(ISSUER.length))).status).toBe(200);
    }
  });

  it('sends Strict-Transport-Security for its own host alone', async () => {
    const answer = await raw(world().base, { target: '/auth/oauth/jwks.json' });
    expect(answer.headers['strict-transport-security']).toBe('max-age=31536000');
  });

  it.each(FORGED)('says the same in discovery whatever %s says', async (_header, headers) => {
    const target = '/auth/.well-known/openid-configuration';
    const plain = await raw(world().base, { target });
    expect(plain.text).toContain(`"token_endpoint":"${ISSUER}/oauth/token"`);
    expect((await raw(world().base, { target, headers })).text).toBe(plain.text);
  });

  it.each(FORGED)('redirects and signs in under its own name whatever %s says', async (_header, headers) => {
    const start = await raw(world().base, { target: AUTHORIZE, headers });
    expect(start.status).toBe(303);
    const location = String(start.headers['location']);
    expect(location).toMatch(/^https:\/\/id\.example\/auth\/interaction\/[\w-]{21,64}$/);
    const cookies = (start.headers['set-cookie'] ?? []) as readonly string[];
    // Cookies of the interaction and of the way back, each signed, and of the browser.
    expect(cookies.length).toBe(5);
    for (const cookie of cookies) expect(cookie.toLowerCase()).toContain('; secure');

    const cookie = cookies.map((one) => one.split(';')[0]).join('; ');
    const target = location.slice('https://id.example'.length);
    const login = await raw(world().base, { target, headers: { ...headers, cookie } });
    expect(login.status).toBe(200);
    expect(login.text).toContain(`action="${location}/login"`);
    expect(login.text).not.toContain('evil');
  });
});

describe('issuers at several paths of one host', () => {
  const host = 'https://id.example';
  const worlds = [
    useWorld({ issuer: host }),
    useWorld({ issuer: `${host}/tenant` }),
    useWorld({ issuer: `${host}/ten-ant` }),
  ];

  it('keep a person signed in at each, in whatever order they come by', async () => {
    // One browser: it sends every cookie with __Host- to all of them.
    const jar = new Map<string, string>();
    for (const round of [1, 2]) {
      for (const [index, world] of worlds.entries()) {
        const browser = newBrowser(world());
        for (const [name, value] of jar) browser.setCookie({ name, value, path: '/' });
        const { callback } = await authorize(world(), {
          browser,
          scope: 'openid',
          person: index % 2 === 0 ? 'alice' : 'bob',
          parameters: round === 1 ? {} : { prompt: 'none' },
        });
        expect(callback.searchParams.get('error'), `${world().issuer} in round ${round}`).toBeNull();
        for (const { name, value, path } of browser.cookies) if (path === '/') jar.set(name, value);
      }
    }
    expect([...jar.keys()].filter((name) => name.startsWith('__Host-postern_session'))).toHaveLength(6);
    expect(jar.has('__Host-postern_session')).toBe(true);
  });
});
