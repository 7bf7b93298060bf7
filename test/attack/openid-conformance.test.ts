// CF-16: what the modules of the OpenID Foundation's conformance suite (basic, config and RP-initiated logout plans) ask
// for, under their names. The suite itself runs elsewhere; these run everywhere.
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { takeCode, type Ticket } from '../world/app.ts';
import { authorizationUrl, VERIFIER } from '../world/authorization-request.ts';
import type { Browser } from '../world/browser.ts';
import { newBrowser, redirectOf } from '../world/person.ts';
import { userinfo } from '../world/presented-tokens.ts';
import { type Parameters, post, textOf } from '../world/requests.ts';
import { redeem, refresh } from '../world/token-endpoint.ts';
import { NEVER } from '../world/turns.ts';
import { CALLBACK, GENEROUS, PASSWORDS, PEOPLE, startWorld, type World } from '../world/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld({ rotationTimer: NEVER, config: GENEROUS });
});
afterAll(() => world.stop());
afterEach(() => void vi.useRealTimers());

/** A request that needs no page, by a browser that has been here; the parameters of its redirect. */
async function silently(browser: Browser, changes: Parameters = {}) {
  const page = await browser.request(authorizationUrl(world, { scope: 'openid', ...changes }));
  expect(page.status).toBe(303);
  return redirectOf(page);
}

/** The claims of the ID token that the code of a redirect gives. */
async function claimsOf(ticket: Ticket, code: string | undefined) {
  const answer = await redeem(world, { ...ticket, code: code ?? '', verifier: VERIFIER });
  expect(answer.status, answer.text).toBe(200);
  return decodeJwt(textOf(answer, 'id_token'));
}

/** A page that asks for a password, and what it leads to. */
async function signInAgain(ticket: Ticket, changes: Parameters, person: keyof typeof PASSWORDS = 'alice') {
  const page = await ticket.browser.open(authorizationUrl(world, { scope: 'openid', ...changes }));
  expect(page.text).toContain('name="password"');
  const done = await ticket.browser.submit(page, '/login', { username: person, password: PASSWORDS[person] });
  return { page, done };
}

describe('CF-16: basic plan', () => {
  it('Server: a code, then tokens whose ID token is signed, timely and for this client', async () => {
    const ticket = await takeCode(world, { scope: 'openid' });
    const answer = await redeem(world, ticket);
    const keys = createRemoteJWKSet(new URL(`${world.issuer}/oauth/jwks.json`));
    const options = { issuer: world.issuer, audience: 'web', algorithms: ['RS256'] };
    const { payload } = await jwtVerify(textOf(answer, 'id_token'), keys, options);
    expect(payload).toMatchObject({ aud: 'web', sub: PEOPLE.alice, nonce: ticket.nonce });
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(3600);
    expect(answer.body['token_type']).toBe('Bearer');
  });

  it('EnsureRegisteredRedirectUri, RedirectUriQueryAdded, RedirectUriQueryMismatch: an error page', async () => {
    for (const uri of ['https://app.example/other', `${CALLBACK}?foo=bar`, `${CALLBACK}?`]) {
      const page = await newBrowser(world).request(authorizationUrl(world, { redirect_uri: uri }));
      expect([page.status, page.headers.get('location')], uri).toEqual([400, null]);
      expect(page.headers.get('content-type')).toContain('text/html');
    }
  });

  it('ResponseTypeMissing: an error to the app', async () => {
    const page = await newBrowser(world).request(authorizationUrl(world, { response_type: undefined }));
    expect(redirectOf(page)).toMatchObject({ target: CALLBACK, query: { error: 'invalid_request' } });
  });

  it('EnsureRequestWithoutNonceSucceedsForCodeFlow', async () => {
    const ticket = await takeCode(world, { scope: 'openid' });
    const { query } = await silently(ticket.browser, { nonce: undefined });
    expect(await claimsOf(ticket, query['code'])).not.toHaveProperty('nonce');
  });

  it('EnsureRequestWithoutState: nothing is made up', async () => {
    const ticket = await takeCode(world, { scope: 'openid' });
    const { query } = await silently(ticket.browser, { state: undefined });
    expect(Object.keys(query).toSorted()).toEqual(['code', 'iss']);
  });

  it('EnsurePostRequestSucceeds: an authorization request by POST', async () => {
    const form = new URL(authorizationUrl(world)).search.slice(1);
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: form,
    };
    const page = await newBrowser(world).open(`${world.issuer}/oauth/authorize`, init);
    expect(page.status).toBe(200);
    expect(page.text).toContain('name="password"');
    const evil = { ...init, body: form.replace('app.example', 'evil.example') };
    const refused = await newBrowser(world).open(`${world.issuer}/oauth/authorize`, evil);
    expect([refused.status, refused.headers.get('location')]).toEqual([400, null]);
  });

  it('EnsureRequestObjectWithRedirectUri, UnsignedRequestObject: not offered, and said so', async () => {
    const request = 'eyJhbGciOiJub25lIn0.eyJyZXNwb25zZV90eXBlIjoiY29kZSJ9.';
    const ticket = await takeCode(world, { scope: 'openid' });
    const { query } = await silently(ticket.browser, { request });
    expect(query['error']).toBe('request_not_supported');
  });

  it('EnsureOtherScopeOrderSucceeds', async () => {
    const ticket = await takeCode(world, { scope: 'profile email openid' });
    expect((await redeem(world, ticket)).status).toBe(200);
  });

  it('EnsureRequestWithUnknownParameterSucceeds', async () => {
    const ticket = await takeCode(world, { scope: 'openid', parameters: { extra: 'foobar', 'a[b]': 'c' } });
    expect((await redeem(world, ticket)).status).toBe(200);
  });

  it('EnsureRequestWithAcrValuesSucceeds, and its answer claims nothing that was not done', async () => {
    const ticket = await takeCode(world, { scope: 'openid', parameters: { acr_values: '1 2' } });
    expect(decodeJwt(textOf(await redeem(world, ticket), 'id_token'))).not.toHaveProperty('acr');
  });

  it('PromptNoneNotLoggedIn: login_required, and nobody is asked', async () => {
    const { target, query } = await silently(newBrowser(world), { prompt: 'none' });
    expect(target).toBe(CALLBACK);
    expect(query).toEqual({
      error: 'login_required',
      error_description: expect.any(String) as string,
      state: 'state-of-the-client',
      iss: world.issuer,
    });
  });

  it('PromptNoneLoggedIn: a code for the same person and the same sign-in', async () => {
    const ticket = await takeCode(world, { scope: 'openid', parameters: { max_age: '10000' } });
    const first = decodeJwt(textOf(await redeem(world, ticket), 'id_token'));
    const { query } = await silently(ticket.browser, { prompt: 'none', max_age: '10000' });
    const second = await claimsOf(ticket, query['code']);
    expect([second.sub, second['auth_time']]).toEqual([first.sub, first['auth_time']]);
  });

  it('PromptLogin: asks although somebody is signed in, and the sign-in is newer', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const ticket = await takeCode(world, { scope: 'openid', parameters: { max_age: '10000' } });
    const first = decodeJwt(textOf(await redeem(world, ticket), 'id_token'));
    vi.setSystemTime(Date.now() + 5000);
    const { done } = await signInAgain(ticket, { prompt: 'login', max_age: '10000' });
    const second = await claimsOf(ticket, new URL(done.url).searchParams.get('code') ?? '');
    expect(second.sub).toBe(first.sub);
    expect(Number(second['auth_time']) - Number(first['auth_time'])).toBeGreaterThanOrEqual(5);
  });

  it('MaxAge1: asks again after two seconds', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const ticket = await takeCode(world, { scope: 'openid' });
    vi.setSystemTime(Date.now() + 2100);
    const { done } = await signInAgain(ticket, { max_age: '1' });
    const claims = await claimsOf(ticket, new URL(done.url).searchParams.get('code') ?? '');
    expect(Math.floor(Date.now() / 1000) - Number(claims['auth_time'])).toBeLessThanOrEqual(1);
  });

  it('MaxAge10000: does not ask, and says when the sign-in was', async () => {
    const ticket = await takeCode(world, { scope: 'openid' });
    const { query } = await silently(ticket.browser, { max_age: '10000' });
    const claims = await claimsOf(ticket, query['code']);
    expect(claims['auth_time']).toEqual(expect.any(Number));
  });

  it('IdTokenHint: the person of the hint silently, and nobody else', async () => {
    const ticket = await takeCode(world, { scope: 'openid' });
    const hint = textOf(await redeem(world, ticket), 'id_token');
    const { query } = await silently(ticket.browser, { prompt: 'none', id_token_hint: hint });
    expect((await claimsOf(ticket, query['code'])).sub).toBe(PEOPLE.alice);
    const bob = await takeCode(world, { scope: 'openid', person: 'bob' });
    const other = await silently(bob.browser, { prompt: 'none', id_token_hint: hint });
    expect(other.query['error']).toBe('login_required');
    expect(other.query).not.toHaveProperty('code');
    const forged = await silently(ticket.browser, {
      prompt: 'none',
      id_token_hint: `${hint.slice(0, -8)}AAAAAAAA`,
    });
    expect(forged.query['error']).toBe('invalid_request');
  });

  it('LoginHint: is filled in, and escaped', async () => {
    for (const hint of ['alice', '"><script>alert(1)</script>', `a${'b'.repeat(8000)}`]) {
      const page = await newBrowser(world).open(authorizationUrl(world, { login_hint: hint }));
      expect(page.status).toBe(200);
      expect(page.text).not.toContain('<script>alert');
      if (hint === 'alice') expect(page.text).toContain('value="alice"');
      expect(page.text.length).toBeLessThan(8000);
    }
  });

  it('UiLocales, ClaimsLocales, DisplayPage, DisplayPopup: known or not, no error', async () => {
    for (const parameters of [
      { ui_locales: 'se' },
      { ui_locales: '../../etc/passwd' },
      { claims_locales: 'se' },
      { display: 'page' },
      { display: 'popup' },
      { display: 'x'.repeat(2000) },
    ]) {
      const page = await newBrowser(world).open(authorizationUrl(world, parameters));
      expect(page.status, JSON.stringify(parameters)).toBe(200);
      expect(page.text).toContain('name="password"');
    }
  });

  it('ScopeProfile, ScopeEmail, ScopeAll: the claims of OIDC Core §5.4 at userinfo', async () => {
    for (const [scope, members] of [
      ['openid profile', ['family_name', 'given_name', 'name', 'sub']],
      ['openid email', ['email', 'email_verified', 'sub']],
      ['openid profile email', ['email', 'email_verified', 'family_name', 'given_name', 'name', 'sub']],
    ] as const) {
      const answer = await redeem(world, await takeCode(world, { scope }));
      const claims = await userinfo(world, textOf(answer, 'access_token'));
      expect(Object.keys(claims.body).toSorted(), scope).toEqual(members);
    }
  });

  it('ScopeAddress, ScopePhone: not offered, and refused instead of dropped', async () => {
    const ticket = await takeCode(world, { scope: 'openid' });
    for (const scope of ['openid address', 'openid phone']) {
      expect((await silently(ticket.browser, { scope })).query['error']).toBe('invalid_scope');
    }
  });

  it('UserinfoGet, UserinfoPostHeader, UserinfoPostBody', async () => {
    const answer = await redeem(world, await takeCode(world, { scope: 'openid email' }));
    const token = textOf(answer, 'access_token');
    const answers = [
      await userinfo(world, token),
      await post(world, '/oauth/userinfo', '', { authorization: `Bearer ${token}` }),
      await post(world, '/oauth/userinfo', { access_token: token }),
    ];
    for (const { status, body, headers } of answers) {
      expect([status, body['sub'], body['email']]).toEqual([200, PEOPLE.alice, 'alice@example.com']);
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    }
  });

  it('RefreshToken: the same person, client and sign-in, no nonce of its own making, and only for its client', async () => {
    const ticket = await takeCode(world, { scope: 'openid offline_access' });
    const first = await redeem(world, ticket);
    expect((await refresh(world, textOf(first, 'refresh_token'), {}, 'web2')).status).toBe(400);
    const second = await refresh(world, textOf(first, 'refresh_token'));
    expect(second.status).toBe(200);
    const [before, after] = [decodeJwt(textOf(first, 'id_token')), decodeJwt(textOf(second, 'id_token'))];
    expect([after.iss, after.sub, after.aud]).toEqual([before.iss, before.sub, before.aud]);
    expect(after.iat ?? 0).toBeGreaterThanOrEqual(before.iat ?? 0);
    expect([before['nonce'], undefined]).toContain(after['nonce']);
  });

  it('ServerClientSecretPost: by form as well', async () => {
    const ticket = await takeCode(world, { client: 'post', scope: 'openid' });
    expect((await redeem(world, ticket)).status).toBe(200);
  });
});

async function visitor() {
  const ticket = await takeCode(world, { scope: 'openid' });
  return { ...ticket, idToken: textOf(await redeem(world, ticket), 'id_token') };
}

async function logOut(browser: Browser, parameters: Readonly<Record<string, string>>) {
  const page = await browser.open(
    `${world.issuer}/oauth/logout?${new URLSearchParams(parameters).toString()}`,
  );
  if (!page.text.includes('/logout/confirm')) return page;
  return browser.submit(page, '/logout/confirm', { logout: 'yes' });
}

async function isOut(browser: Browser): Promise<boolean> {
  return (await silently(browser, { prompt: 'none' })).query['error'] === 'login_required';
}

describe('CF-16: RP-initiated logout plan', () => {
  const OUT = 'https://app.example/out';

  it('RpInitiatedLogout: with hint, URI and state, back with the state, and the session is gone', async () => {
    const { browser, idToken } = await visitor();
    const done = await logOut(browser, { id_token_hint: idToken, post_logout_redirect_uri: OUT, state: 's' });
    expect(done.url).toBe(`${OUT}?state=s`);
    expect(await isOut(browser)).toBe(true);
  });

  it('NoState: back without one', async () => {
    const { browser, idToken } = await visitor();
    const done = await logOut(browser, { id_token_hint: idToken, post_logout_redirect_uri: OUT });
    expect(done.url).toBe(OUT);
  });

  it.each([
    ['BadLogoutRedirectUri', { post_logout_redirect_uri: 'https://evil.example/' }],
    ['QueryAddedToPostLogoutRedirectUri', { post_logout_redirect_uri: `${OUT}?foo=bar` }],
  ])('%s: an error page, and still signed in', async (_module, changes) => {
    const { browser, idToken } = await visitor();
    const page = await logOut(browser, { id_token_hint: idToken, state: 's', ...changes });
    expect([page.status, page.headers.get('location')]).toEqual([400, null]);
    expect(await isOut(browser)).toBe(false);
  });

  it('ModifiedIdTokenHint, BadIdTokenHint: an error page, and still signed in', async () => {
    const { browser, idToken } = await visitor();
    const parts = idToken.split('.');
    const claims = { ...decodeJwt(idToken), sub: PEOPLE.bob };
    const modified = [parts[0], Buffer.from(JSON.stringify(claims)).toString('base64url'), parts[2]].join(
      '.',
    );
    for (const hint of [modified, `${idToken}x`, 'not a token']) {
      const page = await logOut(browser, { id_token_hint: hint, post_logout_redirect_uri: OUT });
      expect([page.status, page.headers.get('location')]).toEqual([400, null]);
    }
    expect(await isOut(browser)).toBe(false);
  });

  it('NoIdTokenHint, NoPostLogoutRedirectUri, NoParams, OnlyState: asked, signed out, and sent nowhere', async () => {
    for (const parameters of [{ post_logout_redirect_uri: OUT, state: 's' }, { state: 's' }, {}] as Record<
      string,
      string
    >[]) {
      const { browser } = await visitor();
      const done = await logOut(browser, parameters);
      expect([done.status, done.url], JSON.stringify(parameters)).toEqual([
        200,
        `${world.issuer}/oauth/logout/success`,
      ]);
      expect(await isOut(browser)).toBe(true);
    }
    const { browser, idToken } = await visitor();
    const done = await logOut(browser, { id_token_hint: idToken, state: 's' });
    expect(done.url.startsWith(`${world.issuer}/oauth/logout/success`)).toBe(true);
  });
});
