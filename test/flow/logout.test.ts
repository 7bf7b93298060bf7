import { buildEndSessionUrl } from 'openid-client';
import { describe, expect, it } from 'vitest';
import { signIn } from '../world/app.ts';
import type { Browser } from '../world/browser.ts';
import { authorizationError, newBrowser, silently } from '../world/person.ts';
import { introspect, userinfo } from '../world/presented-tokens.ts';
import { formPost, get, post } from '../world/requests.ts';
import type { OpenWorld, World } from '../world/world.ts';
import { eachStore, useWorld } from '../world/each-store.ts';

const OUT = 'https://app.example/out';
const CONFIRM = '/oauth/logout/confirm';

/** Whether this browser still has a session: an authorization request without a page says so. */
async function isSignedIn(world: World, browser: Browser): Promise<boolean> {
  const seen = await silently(world, browser);
  // consent_required: a user is signed in, but has not consented to this (or no longer).
  if (seen === 'login_required') return false;
  if (seen === 'signed in' || seen === 'consent_required') return true;
  throw new Error(`neither signed in nor out: ${seen}`);
}

/** How often the service has written a record to its store, according to its metrics. */
async function recordWrites({ management }: OpenWorld): Promise<number> {
  const metrics = await (await fetch(`${management}/metrics`)).text();
  const operations = metrics.matchAll(/_count\{operation="records\.(\w+)"\} (\d+)/g);
  return [...operations]
    .filter(([, operation = '']) => !operation.startsWith('find'))
    .reduce((sum, [, , count]) => sum + Number(count), 0);
}

eachStore('signing out with nobody signed in', (world) => {
  const LOGOUT = '/oauth/logout';

  it('writes nothing to the store, whatever cookie the browser sends', async () => {
    const { browser } = await signIn(world(), { scope: 'openid' });
    const old = browser.cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
    expect(await recordWrites(world())).toBeGreaterThan(0);
    await browser.submit(await browser.open(`${world().issuer}${LOGOUT}`), CONFIRM, { logout: 'yes' });
    const before = await recordWrites(world());
    const query = `?client_id=web&post_logout_redirect_uri=${encodeURIComponent(OUT)}&state=s`;
    // A valid signature, but of a session that has ended.
    for (const cookie of ['', 'postern_session=x', old]) {
      expect((await get(world(), LOGOUT, { cookie })).status).toBe(200);
      expect((await get(world(), `${LOGOUT}${query}`, { cookie })).status).toBe(303);
      expect((await get(world(), `${LOGOUT}?client_id=nobody`, { cookie })).status).toBe(400);
      expect((await get(world(), `${LOGOUT}?id_token_hint=x`, { cookie })).status).toBe(400);
      const form = { client_id: 'web', post_logout_redirect_uri: OUT };
      expect((await post(world(), LOGOUT, form, { cookie })).status).toBe(303);
      expect((await post(world(), CONFIRM, { logout: 'yes', xsrf: 'x' }, { cookie })).status).toBe(400);
    }
    expect(await recordWrites(world())).toBe(before);
  });
});

eachStore('signing out', (world) => {
  it('Spec §4 GET /oauth/logout, LO-03: RP-initiated, asks, ends the session and goes back with state', async () => {
    const { browser, configuration, tokens } = await signIn(world(), { scope: 'openid reports.read' });
    expect(await isSignedIn(world(), browser)).toBe(true);
    const url = buildEndSessionUrl(configuration, {
      id_token_hint: tokens.id_token ?? '',
      post_logout_redirect_uri: OUT,
      state: 'a b&c=d',
    });
    const ask = await browser.open(url.href);
    expect(ask.status).toBe(200);
    expect(ask.text).toContain('<bdi>Web app</bdi>');
    expect(await introspect(world(), tokens.access_token)).toMatchObject({ active: true });

    const left = new URL((await browser.submit(ask, CONFIRM, { logout: 'yes' })).url);
    expect(`${left.origin}${left.pathname}`).toBe(OUT);
    expect(Object.fromEntries(left.searchParams)).toEqual({ state: 'a b&c=d' });
    expect(await isSignedIn(world(), browser)).toBe(false);
    expect(await introspect(world(), tokens.access_token)).toEqual({ active: false });
    expect((await userinfo(world(), tokens.access_token)).status).toBe(401);
  });

  it('LO-02: keeps the session of a person who stays signed in', async () => {
    const { browser } = await signIn(world(), { scope: 'openid' });
    const ask = await browser.open(`${world().issuer}/oauth/logout`);
    const stay = await browser.submit(ask, CONFIRM);
    expect(stay.url).toMatch(`${world().issuer}/oauth/logout/success`);
    expect(stay.text).toContain('You’re still signed in');
    expect(stay.text).not.toContain('but not of');
    expect(await isSignedIn(world(), browser)).toBe(true);
  });

  it('says to a person who stays signed in that only the sign-in to the app has ended', async () => {
    const { browser } = await signIn(world(), { scope: 'openid' });
    const ask = await browser.open(`${world().issuer}/oauth/logout?client_id=web`);
    const stay = await browser.submit(ask, CONFIRM);
    expect(stay.text).toContain('You’re still signed in');
    expect(stay.text).toContain(', but not of ');
  });
});

describe('GET /oauth/logout', () => {
  const world = useWorld();
  const open = async (browser: Browser, parameters: Record<string, string> = {}) =>
    browser.open(`${world().issuer}/oauth/logout?${new URLSearchParams(parameters).toString()}`);

  it('takes client_id for a hint', async () => {
    const { browser } = await signIn(world(), { scope: 'openid' });
    const ask = await open(browser, { client_id: 'web', post_logout_redirect_uri: OUT });
    const left = await browser.submit(ask, CONFIRM, { logout: 'yes' });
    expect(left.url).toBe(OUT);
  });

  it('leads a person without a session to the page that says so', async () => {
    const browser = newBrowser(world());
    const page = await open(browser);
    expect(page.status).toBe(200);
    expect(page.text).toContain('You’re already signed out');
    expect(page.text).not.toMatch(/<form|<script/);
    expect(browser.cookies.filter(({ name }) => name.startsWith('postern_session'))).toEqual([]);
    expect((await authorizationError(world(), { prompt: 'none' }))['error']).toBe('login_required');
  });

  it('takes the same request as POST, as RP-Initiated Logout §2 wants', async () => {
    const { browser, tokens } = await signIn(world(), { scope: 'openid' });
    const form = { id_token_hint: tokens.id_token, post_logout_redirect_uri: OUT };
    const ask = await browser.open(`${world().issuer}/oauth/logout`, formPost(form));
    expect((await browser.submit(ask, CONFIRM, { logout: 'yes' })).url).toBe(OUT);
    expect(await isSignedIn(world(), browser)).toBe(false);
  });
});
