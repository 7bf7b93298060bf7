// RP-initiated logout: a link alone signs no user out, nothing survives a sign-out, and a browser is redirected only to
// registered URIs of the app.
import { createPrivateKey } from 'node:crypto';
import { decodeJwt, SignJWT } from 'jose';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type AuthorizeOptions, takeCode } from '../world/app.ts';
import { authorizationUrl } from '../world/authorization-request.ts';
import { type Browser, formOf, type Page } from '../world/browser.ts';
import { newBrowser, redirectOf } from '../world/person.ts';
import { introspect, userinfo } from '../world/presented-tokens.ts';
import { post, textOf } from '../world/requests.ts';
import { keyStoreOf, withStore } from '../world/stored.ts';
import { redeem, refresh } from '../world/token-endpoint.ts';
import { NEVER } from '../world/turns.ts';
import { sendBytes } from '../world/wire.ts';
import { GENEROUS, PEOPLE, startWorld } from '../world/world.ts';
import { useWorld } from '../world/each-store.ts';

const world = useWorld({ rotationTimer: NEVER, config: GENEROUS });
afterEach(() => void vi.useRealTimers());

const OUT = 'https://app.example/out';

type Visitor = { readonly browser: Browser; readonly idToken: string; readonly accessToken: string };

async function newVisitor(options: AuthorizeOptions = {}): Promise<Visitor> {
  const ticket = await takeCode(world(), { scope: 'openid reports.read', ...options });
  const answer = await redeem(world(), ticket);
  return {
    browser: ticket.browser,
    idToken: textOf(answer, 'id_token'),
    accessToken: textOf(answer, 'access_token'),
  };
}

function logoutUrl(parameters: Readonly<Record<string, string>>, { issuer } = world()): string {
  return `${issuer}/oauth/logout?${new URLSearchParams(parameters).toString()}`;
}

/** Whether this browser has a session, by a silent request. */
async function hasSession(browser: Browser): Promise<boolean> {
  const page = await browser.request(authorizationUrl(world(), { prompt: 'none', scope: 'openid' }));
  const { query } = redirectOf(page);
  if (query['code'] !== undefined) return true;
  expect(query['error']).toBe('login_required');
  return false;
}

const encode = (claims: object) => Buffer.from(JSON.stringify(claims)).toString('base64url');

function isQuestion(page: Page): boolean {
  return page.status === 200 && page.text.includes('Sign out?');
}

async function confirm(browser: Browser, page: Page): Promise<Page> {
  return browser.submit(page, '/logout/confirm', { logout: 'yes' });
}

describe('nobody is signed out without being asked', () => {
  it('LO-01: opening the address, as an image or a link does, only asks', async () => {
    const { browser, idToken } = await newVisitor();
    for (const parameters of [
      {},
      { client_id: 'web' },
      { id_token_hint: idToken },
      { id_token_hint: idToken, post_logout_redirect_uri: OUT, state: 's' },
      { logout: 'yes' },
      { logout: 'yes', xsrf: 'x' },
    ]) {
      const page = await browser.open(logoutUrl(parameters));
      expect(isQuestion(page), JSON.stringify(parameters)).toBe(true);
      expect(page.headers.get('x-frame-options')).toBe('DENY');
      expect(page.headers.get('cache-control')).toBe('no-store');
      expect(await hasSession(browser), JSON.stringify(parameters)).toBe(true);
    }
  });

  it('LO-02: the confirmation needs its own secret, from this browser', async () => {
    const { browser } = await newVisitor();
    const other = await newVisitor({ person: 'bob' });
    const page = await browser.open(logoutUrl({}));
    const foreign = formOf(await other.browser.open(logoutUrl({})), '/logout/confirm').fields['xsrf'] ?? '';
    for (const xsrf of ['', 'x', foreign, '0'.repeat(48)]) {
      const answer = await browser.submit(page, '/logout/confirm', { logout: 'yes', xsrf });
      expect([answer.status, answer.headers.get('location')], xsrf).toEqual([403, null]);
      expect(await hasSession(browser), xsrf).toBe(true);
    }
    const bare = await post(world(), '/oauth/logout/confirm', { logout: 'yes', xsrf: foreign });
    expect([bare.status, bare.headers.get('location')]).toEqual([400, null]);
  });

  it('LO-02: a confirmation from another site is refused, also with the secret', async () => {
    const { browser } = await newVisitor();
    const page = await browser.open(logoutUrl({}));
    for (const from of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ]) {
      const answer = await browser.submit(page, '/logout/confirm', { logout: 'yes' }, from);
      expect([answer.status, answer.headers.get('location')], JSON.stringify(from)).toEqual([403, null]);
      expect(await hasSession(browser), JSON.stringify(from)).toBe(true);
    }
  });

  it('LO-02: a confirmation is good once', async () => {
    const { browser } = await newVisitor();
    const page = await browser.open(logoutUrl({}));
    await confirm(browser, page);
    expect(await hasSession(browser)).toBe(false);
    const again = await browser.submit(page, '/logout/confirm', { logout: 'yes' });
    expect([again.status, again.headers.get('location')]).toEqual([400, null]);
  });

  it('LO-10: the form and every redirect of it go to the issuer, whatever the Host says', async () => {
    const { browser } = await newVisitor();
    const cookie = browser.cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
    const raw = await sendBytes(
      world().base,
      `GET /oauth/logout HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\nCookie: ${cookie}\r\nConnection: close\r\n\r\n`,
    );
    expect(raw.status).toBe(200);
    expect(raw.text).not.toContain('evil.example');
    expect(raw.text).toContain(`action="${world().issuer}/oauth/logout/confirm"`);
    expect(raw.headers.get('x-frame-options')).toBe('DENY');
  });
});

describe('where a browser is sent', () => {
  /** The visitor whom none of these requests signs out. */
  let visitor: Visitor | undefined;

  it.each([
    'https://evil.example/out',
    'https://evil.example/',
    'https://app.example/out/',
    'https://app.example/out?x=1',
    'https://app.example/OUT',
    'https://app.example/cb',
    'https://app.example.evil.example/out',
    'https://app.example@evil.example/out',
    'http://app.example/out',
    'javascript:alert(1)',
    '//evil.example',
    ' https://app.example/out',
  ])('LO-04: %s is not registered: 400, no redirect, still signed in', async (uri) => {
    visitor ??= await newVisitor();
    const { browser, idToken } = visitor;
    for (const identity of [{ id_token_hint: idToken }, { client_id: 'web' }] as const) {
      const page = await browser.open(logoutUrl({ ...identity, post_logout_redirect_uri: uri }));
      expect([page.status, page.headers.get('location')]).toEqual([400, null]);
      expect(page.text).toContain('invalid_request');
      expect(page.text).not.toContain('evil.example');
    }
    expect(await hasSession(browser)).toBe(true);
  });

  it('LO-04: a URI without saying whose it is leads nowhere', async () => {
    const { browser } = await newVisitor();
    const page = await browser.open(logoutUrl({ post_logout_redirect_uri: OUT, state: 's' }));
    expect(isQuestion(page)).toBe(true);
    const done = await confirm(browser, page);
    expect([done.status, done.url]).toEqual([200, `${world().issuer}/oauth/logout/success`]);
  });

  it('LO-04: a registered URI of another client is not registered', async () => {
    const { browser } = await newVisitor();
    const page = await browser.open(logoutUrl({ client_id: 'spa', post_logout_redirect_uri: OUT }));
    expect([page.status, page.headers.get('location')]).toEqual([400, null]);
  });

  it('LO-05: the state of somebody who is not signed in goes back too, and shows no page of another', async () => {
    const { idToken } = await newVisitor();
    const page = await newBrowser(world()).open(
      logoutUrl({ id_token_hint: idToken, post_logout_redirect_uri: OUT, state: 's' }),
    );
    // Nothing to confirm.
    expect([page.status, page.url]).toEqual([303, `${OUT}?state=s`]);
    expect(page.text).not.toContain(PEOPLE.alice);
  });
});

describe('the hint', () => {
  it('LO-06: a hint that is not ours, was changed, or is something else is refused', async () => {
    const { browser, idToken, accessToken } = await newVisitor();
    const [head = '', , signature = ''] = idToken.split('.');
    const none = Buffer.from('{"alg":"none"}').toString('base64url');
    const claims = decodeJwt(idToken);
    for (const hint of [
      'x',
      'a.b.c',
      `${head}.${encode({ ...claims, sub: PEOPLE.bob })}.${signature}`,
      `${head}.${encode({ ...claims, aud: 'web2' })}.${signature}`,
      `${head}.${encode(claims)}.${signature.slice(0, -4)}AAAA`,
      `${none}.${encode(claims)}.`,
      accessToken,
    ]) {
      const page = await browser.open(logoutUrl({ id_token_hint: hint, post_logout_redirect_uri: OUT }));
      expect([page.status, page.headers.get('location')], hint.slice(0, 20)).toEqual([400, null]);
    }
    expect(await hasSession(browser)).toBe(true);
  });

  it('LO-06: of what our key signs for the app, only an ID token is a hint', async () => {
    const { active } = await withStore(world(), async (store) =>
      keyStoreOf(store).toKeySet(await keyStoreOf(store).load()),
    );
    const { browser, idToken } = await newVisitor();
    const sign = (typ?: string) =>
      new SignJWT(decodeJwt(idToken))
        .setProtectedHeader({ alg: 'RS256', kid: active.kid, ...(typ !== undefined && { typ }) })
        .sign(createPrivateKey({ key: { ...active.privateJwk }, format: 'jwk' }));
    expect(isQuestion(await browser.open(logoutUrl({ id_token_hint: await sign() })))).toBe(true);
    for (const typ of ['logout+jwt', 'at+jwt']) {
      const hint = { id_token_hint: await sign(typ) };
      expect((await browser.open(logoutUrl(hint))).status).toBe(400);
      const answer = await browser.request(authorizationUrl(world(), { ...hint, prompt: 'none' }));
      expect(redirectOf(answer).query['error']).toBe('invalid_request');
    }
    expect(await hasSession(browser)).toBe(true);
  });

  it('LO-06: the error page says nothing of the app, known or unknown', async () => {
    const [head, , signature] = (await newVisitor()).idToken.split('.');
    const far = await startWorld({ issuer: 'https://id.example' });
    const shown = new Set<string>();
    for (const client of ['web', 'nobody']) {
      const uri = { post_logout_redirect_uri: 'https://app.example/other' };
      const hint = { id_token_hint: `${head}.${encode({ aud: client })}.${signature}` };
      for (const parameters of [{ client_id: client, ...uri }, hint]) {
        const { status, text } = await newBrowser(far).open(logoutUrl(parameters, far));
        expect(text).not.toMatch(/redirect_uri|web|nobody/);
        shown.add(
          `${status} ${text.replaceAll(/<code>[\da-f-]{36}</g, '<code><').replaceAll(/href="[^"]*"/g, '')}`,
        );
      }
    }
    expect([...shown]).toHaveLength(1);
    await far.stop();
  });

  it('LO-06: a client_id that is not the hint’s is refused', async () => {
    const { browser, idToken } = await newVisitor();
    const page = await browser.open(logoutUrl({ id_token_hint: idToken, client_id: 'web2' }));
    expect([page.status, page.headers.get('location')]).toEqual([400, null]);
  });

  it('LO-07: the hint of alice in the browser of bob asks bob, who stays signed in', async () => {
    const alice = await newVisitor();
    const bob = await newVisitor({ person: 'bob' });
    const hint = { id_token_hint: alice.idToken, post_logout_redirect_uri: OUT };
    const page = await bob.browser.open(logoutUrl(hint));
    expect(isQuestion(page)).toBe(true);
    expect(await hasSession(bob.browser)).toBe(true);
    expect(await hasSession(alice.browser)).toBe(true);
    const again = await bob.browser.open(logoutUrl(hint));
    await confirm(bob.browser, again);
    expect(await hasSession(bob.browser)).toBe(false);
    expect(await hasSession(alice.browser)).toBe(true);
  });

  it('LO-08: an ID token that has expired is still a hint', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const { browser, idToken } = await newVisitor();
    vi.setSystemTime(Date.now() + 2 * 3_600_000);
    const page = await browser.open(logoutUrl({ id_token_hint: idToken, post_logout_redirect_uri: OUT }));
    expect(isQuestion(page)).toBe(true);
    expect((await confirm(browser, page)).url).toBe(OUT);
  });
});

it('LO-11: nothing of the session survives a confirmed sign-out', async () => {
  const ticket = await takeCode(world(), { scope: 'openid email reports.read' });
  const accessToken = textOf(await redeem(world(), ticket), 'access_token');
  const { browser } = ticket;
  const unused = redirectOf(
    await browser.request(authorizationUrl(world(), { prompt: 'none', scope: 'openid' })),
  );
  const offline = await redeem(world(), await takeCode(world(), { browser }));
  const before = browser.cookies;
  expect(before.map(({ name }) => name)).toContain('postern_session');

  const done = await confirm(browser, await browser.open(logoutUrl({})));
  expect([done.status, done.url]).toEqual([200, `${world().issuer}/oauth/logout/success`]);
  // The cookie is deleted, and a kept copy doesn't restore the session.
  expect(browser.cookies.map(({ name }) => name)).not.toContain('postern_session');
  for (const cookie of before) browser.setCookie(cookie);
  expect(await hasSession(browser)).toBe(false);

  expect(await introspect(world(), accessToken)).toEqual({ active: false });
  expect((await userinfo(world(), accessToken)).status).toBe(401);
  const late = await redeem(world(), { ...ticket, code: unused.query['code'] ?? '' });
  expect([late.status, late.body['error']]).toEqual([400, 'invalid_grant']);
  // Offline access stays (RP-Initiated Logout §2 leaves it open); the app can revoke it.
  expect((await refresh(world(), textOf(offline, 'refresh_token'))).status).toBe(200);
});
