// Attacks on the account page: from outside, with a copy of a session's cookie, and in races.
import { beforeAll, describe, expect, it } from 'vitest';
import { ACCOUNT_PATH } from '../../../src/config/endpoint-rows.ts';
import { addCarol, CAROL, idsOf, isAccountPage, isLoginPage, openAccount } from '../../world/account-page.ts';
import { signIn } from '../../world/app.ts';
import { authorizationUrl } from '../../world/authorization-request.ts';
import { type Browser, formOf, type Page } from '../../world/browser.ts';
import { MINUTE, moveClock, standingClock } from '../../world/clock.ts';
import { eachStore, useWorld } from '../../world/each-store.ts';
import { begin, newBrowser, sessionOf, signInAs, silently } from '../../world/person.ts';
import { postern, useEnvironment } from '../../world/terminal.ts';
import { get, post } from '../../world/requests.ts';
import {
  CODE_PERIOD,
  factorsOf,
  giveOneTimeCodes,
  isSecondStep,
  setFactors,
} from '../../world/second-factors.ts';
import { changeAccount } from '../../world/store-access.ts';
import { refresh } from '../../world/token-endpoint.ts';
import { NEVER } from '../../world/turns.ts';
import type { Store } from '../../../src/store/store.ts';
import { watchSaving } from '../../world/saving.ts';
import { userinfo } from '../../world/presented-tokens.ts';
import { GENEROUS, type OpenWorld, PASSWORDS, WORLD_ENV, worldClients } from '../../world/world.ts';

const CONFIG = { ...GENEROUS, account: true };
const OWN_CLIENT = 'postern:account';
const BOB = { username: 'bob', password: PASSWORDS.bob };
const newPassword = (password: string) => ({ password, again: password });

standingClock();
useEnvironment(() => WORLD_ENV);

/** A browser with a copy of all cookies of this one. */
function thiefOf(world: OpenWorld, { cookies }: Browser): Browser {
  const thief = newBrowser(world);
  for (const cookie of cookies) thief.setCookie(cookie);
  return thief;
}

describe('from outside', () => {
  const world = useWorld({ config: CONFIG });

  it('leads nowhere else, whatever an address says', async () => {
    const evil = encodeURIComponent('https://evil.example/');
    const browser = newBrowser(world());
    await openAccount(world(), browser, { username: 'alice' });
    const queries = ['next', 'return_to', 'redirect_uri', 'url', 'done'].map((name) => `?${name}=${evil}`);
    const paths = ['', '/', '//evil.example', '/callback', `/callback?error=x&error_uri=${evil}`];
    for (const who of [browser, newBrowser(world())]) {
      for (const end of [...paths, ...queries, ...queries.map((query) => `/callback${query}`)]) {
        const page = await who.request(`${world().issuer}${ACCOUNT_PATH}${end}`);
        const location = page.headers.get('location');
        expect([end, location === null || location.startsWith(`${world().issuer}/`)]).toEqual([end, true]);
        expect(new URL(location ?? world().issuer).searchParams.get('redirect_uri') ?? '').not.toContain(
          'evil',
        );
        expect(page.text).not.toContain('evil.example/"');
      }
    }
  });

  it('its client is no name for the file, in no list, and can do nothing by itself', async () => {
    const clients = [...worldClients(), { ...worldClients()[0], client_id: OWN_CLIENT }];
    await expect(world().reload({ ...CONFIG, clients })).rejects.toThrow('client_id');
    await world().reload(CONFIG);
    await openAccount(world(), newBrowser(world()), BOB);
    const listed = await postern(['client', 'list', '--config', world().configFile]);
    expect([listed.code, listed.stdout.includes('web'), listed.stdout.includes('postern:')]).toEqual([
      0,
      true,
      false,
    ]);
    const metrics = await (await fetch(`${world().management}/metrics`)).text();
    expect([metrics.includes('postern_'), metrics.includes(OWN_CLIENT)]).toEqual([true, false]);
    for (const path of ['token', 'introspect', 'revoke']) {
      const form = { grant_type: 'client_credentials', token: 'x', client_id: OWN_CLIENT };
      const refused = await post(world(), `/oauth/${path}`, form);
      expect([path, refused.status, refused.body['error']]).toEqual([path, 401, 'invalid_client']);
    }
    const discovery = await get(world(), '/.well-known/openid-configuration');
    expect(JSON.stringify(discovery.body)).not.toContain('account');
  });

  it('its client asks for no app, scope or address but its own', async () => {
    const browser = newBrowser(world());
    await openAccount(world(), browser, BOB);
    const way =
      (await newBrowser(world()).request(`${world().issuer}/account`)).headers.get('location') ?? '';
    const changed = (changes: Readonly<Record<string, string>>) => {
      const url = new URL(way);
      for (const [name, value] of Object.entries(changes)) url.searchParams.set(name, value);
      return browser.request(url.href);
    };
    for (const changes of [
      { redirect_uri: 'https://evil.example/' },
      { redirect_uri: `${world().issuer}/account/callback?next=https://evil.example` },
      { redirect_uri: `${world().issuer}/account` },
    ]) {
      const page = await changed(changes);
      expect([changes, page.status, page.headers.get('location')]).toEqual([changes, 400, null]);
    }
    const wider = (await changed({ scope: 'openid email' })).headers.get('location') ?? '';
    expect(new URL(wider).searchParams.get('error')).toBe('invalid_scope');
  });
});

describe('guessing', () => {
  const sign_in = '3/1h';
  const world = useWorld({
    rotationTimer: NEVER,
    config: { ...CONFIG, rate_limits: { ...GENEROUS.rate_limits, sign_in } },
  });

  it('the old password counts with all other sign-ins of the user', async () => {
    await addCarol(world());
    const browser = newBrowser(world());
    const page = await openAccount(world(), browser);
    const guess = (current: string) =>
      browser.submit(page, '/password', { current, ...newPassword('river otter jazz 47') });
    const { page: login } = await begin(world(), { prompt: 'login' }, { browser });
    const signInWith = (password: string) => browser.submit(login, '/login', { username: 'carol', password });
    const statuses: number[] = [];
    // Ten from a browser that she signed in with, and three more.
    for (let turn = 0; turn < 7; turn += 1) {
      statuses.push((await guess(`guess ${turn}`)).status, (await signInWith(`guess ${turn}`)).status);
    }
    expect(statuses).toEqual([...Array.from({ length: 6 }, () => [422, 401]).flat(), 422, 429]);
    const refused = await guess(CAROL.password);
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true]);
    expect(refused.text).toContain('role="alert"');
    expect((await signInWith(CAROL.password)).status).toBe(429);
    const reasons = world()
      .recorded.audit('account_changed')
      .map(({ reason }) => reason);
    expect(reasons).toEqual([...Array<string>(7).fill('wrong_password'), 'too_many_attempts']);
  });
});

describe('with more than a session', () => {
  const world = useWorld({
    issuer: 'https://id.example',
    rotationTimer: NEVER,
    config: { ...CONFIG, sign_in: { one_time_codes: true } },
  });

  it('a password alone, in the same browser, makes no old sign-in fresh', async () => {
    const app = await giveOneTimeCodes(world());
    const [browser, other] = [newBrowser(world()), newBrowser(world())];
    const enter = async (at: Browser, code: string) => {
      const half = await signInAs(at, await at.open(`${world().issuer}/account`), 'alice');
      return at.submit(half, '/code', { code });
    };
    await enter(other, app.code());
    moveClock(CODE_PERIOD);
    const page = await enter(browser, app.code());
    expect(isAccountPage(page)).toBe(true);
    moveClock(6 * MINUTE);
    const again = /class="button primary" href="([^"]*)"/;
    const aged = await browser.open(`${world().issuer}/account`);
    const login = await browser.open(again.exec(aged.text)?.[1]?.replaceAll('&amp;', '&') ?? '');
    const step = await signInAs(browser, login, 'alice');
    expect(isSecondStep(step)).toBe(true);
    // A pending sign-in changes neither what may be seen nor what may be done.
    const shown = await browser.open(`${world().issuer}/account`);
    expect([isAccountPage(shown), shown.text.includes('<form')]).toEqual([true, false]);
    expect((await browser.submit(page, '/end-others')).status).toBe(403);
    expect(await silently(world(), other, { client_id: 'first-party' })).toBe('signed in');
    await setFactors(world(), 'alice');
  });
});

const REMEMBERED = { rotationTimer: NEVER, config: { ...CONFIG, lifetimes: { consent: '30d' } } };
eachStore('in races, and with copies', REMEMBERED, (world) => {
  it('a copy of the session stops working after a new password, and can’t set one', async () => {
    await addCarol(world());
    const browser = newBrowser(world());
    const page = await openAccount(world(), browser);
    const thief = thiefOf(world(), browser);
    const before = sessionOf(browser);
    expect(page.text).not.toContain(before);
    const next = newPassword('seven wet umbrellas');
    const done = await browser.submit(page, '/password', { current: CAROL.password, ...next });
    expect(done.text).toContain('Your password was changed.');
    expect(sessionOf(browser)).not.toBe(before);
    expect(isLoginPage(await thief.open(`${world().issuer}/account`))).toBe(true);
    expect((await thief.submit(page, '/password', { current: next.password, ...next })).status).toBe(403);
    expect(await silently(world(), thief, { client_id: 'first-party' })).toBe('login_required');
  });

  it('of two new passwords at once one wins, and the browser of the other is signed out', async () => {
    const current = 'seven wet umbrellas';
    const browsers = [newBrowser(world()), newBrowser(world())];
    const pages: Page[] = [];
    for (const one of browsers) pages.push(await openAccount(world(), one, { password: current }));
    const changes = () =>
      world()
        .recorded.audit('account_changed')
        .filter(({ outcome }) => outcome === 'success').length;
    const changedBefore = changes();
    const answers = await Promise.all(
      browsers.map((one, index) => {
        const { action, fields } = formOf(pages[index] as Page, '/password');
        const password = `umbrella of number ${index}`;
        return one.post(action, { ...fields, current, ...newPassword(password) });
      }),
    );
    const won = answers.findIndex(({ status }) => status === 303);
    expect(answers.filter(({ status }) => status === 303)).toHaveLength(1);
    expect(changes()).toBe(changedBefore + 1);
    const login = await openAccount(world(), newBrowser(world()), { password: `umbrella of number ${won}` });
    expect(isAccountPage(login)).toBe(true);
    const lost = await openAccount(world(), newBrowser(world()), {
      password: `umbrella of number ${1 - won}`,
    });
    expect(lost.status).toBe(401);
    const left = await Promise.all(
      browsers.map((one) => silently(world(), one, { client_id: 'first-party' })),
    );
    expect(left[won]).toBe('signed in');
    expect(left[1 - won]).toBe('login_required');
  });

  it('MF-39: a session ends although its browser is given another cookie for it meanwhile', async () => {
    const [browser, other] = [newBrowser(world()), newBrowser(world())];
    await openAccount(world(), other, BOB);
    const asks = { scope: 'openid', prompt: 'consent' };
    const { page: consent } = await begin(world(), asks, { browser: other });
    const page = await openAccount(world(), browser, BOB);
    const { records } = world().openedStore;
    const revokeGrant = records.revokeGrant.bind(records);
    records.revokeGrant = async (...args) => {
      records.revokeGrant = revokeGrant;
      const before = sessionOf(other);
      await other.submit(consent, '/consent');
      expect(sessionOf(other)).not.toBe(before);
      return revokeGrant(...args);
    };
    const after = await browser.submit(page, '/end-others');
    expect(after.text).toContain('signed out everywhere else');
    expect(await silently(world(), other, { client_id: 'first-party' })).toBe('login_required');
  });

  it('an app that two browsers withdraw at once is gone, and only that', async () => {
    const [here, there] = [newBrowser(world()), newBrowser(world())];
    await openAccount(world(), here, BOB);
    await openAccount(world(), there, BOB);
    const web = await signIn(world(), { browser: here, person: 'bob' });
    const web2 = await signIn(world(), { browser: there, person: 'bob', client: 'web2' });
    const pages = [await openAccount(world(), here, BOB), await openAccount(world(), there, BOB)];
    expect(idsOf(pages[0] as Page, '/withdraw')).toEqual(expect.arrayContaining(['web', 'web2']));
    const answers = await Promise.all([
      here.submit(pages[0] as Page, '/withdraw', { id: 'web' }),
      there.submit(pages[1] as Page, '/withdraw', { id: 'web' }),
    ]);
    for (const page of answers) expect(isAccountPage(page)).toBe(true);
    const left = idsOf(await openAccount(world(), here, BOB), '/withdraw');
    expect([left.includes('web'), left.includes('web2')]).toEqual([false, true]);
    expect((await refresh(world(), web.tokens.refresh_token)).status).toBe(400);
    expect((await refresh(world(), web2.tokens.refresh_token, {}, 'web2')).status).toBe(200);
    const { page: asked } = await begin(world(), {}, { browser: here });
    expect(asked.text).toContain('/consent"');
  });

  it('the ids of one user do nothing for another', async () => {
    const alice = { username: 'alice' };
    const [hers, other] = [newBrowser(world()), newBrowser(world())];
    await openAccount(world(), other, alice);
    const app = await signIn(world(), { browser: other });
    const page = await openAccount(world(), hers, alice);
    const ids = idsOf(page, '/end-session');
    expect(ids).toHaveLength(1);
    const bobs = newBrowser(world());
    await openAccount(world(), newBrowser(world()), BOB);
    const his = await openAccount(world(), bobs, BOB);
    await bobs.submit(his, '/end-session', { id: ids[0] ?? '' });
    await bobs.submit({ ...his, text: his.text.replaceAll('/end-session', '/withdraw') }, '/withdraw', {
      id: 'web',
    });
    for (const id of [...ids, sessionOf(other) ?? '']) {
      const made = newBrowser(world());
      for (const { name, path } of other.cookies) made.setCookie({ name, path, value: id });
      expect(isLoginPage(await made.open(`${world().issuer}/account`))).toBe(true);
    }
    expect(await silently(world(), other, { client_id: 'first-party' })).toBe('signed in');
    expect((await refresh(world(), app.tokens.refresh_token)).status).toBe(200);
  });
});

const saving = watchSaving();

const SAVED = {
  rotationTimer: NEVER,
  config: { ...CONFIG, sign_in: { one_time_codes: true } },
  handStore: saving.handStore,
};

eachStore('an answer whose session ended meanwhile', SAVED, (world) => {
  let [password, made]: [string, number] = [CAROL.password, 0];
  beforeAll(() => addCarol(world()));

  const silent = () => authorizationUrl(world(), { client_id: 'first-party', prompt: 'none' });
  const consentOf = async (browser: Browser) =>
    (await begin(world(), { scope: 'openid', prompt: 'consent' }, { browser })).page;
  /** Requests while the session ends: with its id, with a new id, and by one of our pages. */
  const requests: Readonly<Record<string, (browser: Browser) => Promise<() => Promise<Page>>>> = {
    'an app’s silent request': async (browser) => () => browser.request(silent()),
    'a consent': async (browser) => {
      const consent = formOf(await consentOf(browser), '/consent');
      const answer = await browser.post(consent.action, consent.fields);
      return () => browser.request(answer.headers.get('location') ?? '');
    },
    'a new password': async (browser) => {
      const { action, fields } = formOf(await openAccount(world(), browser, { password }), '/password');
      const form = { ...fields, current: password, ...newPassword(`umbrella of number ${(made += 1)}`) };
      password = form.password;
      return () => browser.post(action, form);
    },
    'the page of a sign-out': async (browser) => () => browser.request(`${world().issuer}/oauth/logout`),
  };
  const ends: Readonly<Record<string, (browser: Browser) => Promise<unknown>>> = {
    'a sign-out in another tab': async (browser) => {
      const tab = thiefOf(world(), browser);
      await tab.submit(await tab.open(`${world().issuer}/oauth/logout`), '/confirm', { logout: 'yes' });
    },
    'an administrator signs the person out': () =>
      changeAccount(world(), CAROL.id, { validAfter: (made += 1) }),
    'an administrator disables the person': () =>
      changeAccount(world(), CAROL.id, { disabled: true, validAfter: (made += 1) }),
    'other factors in another browser': async () =>
      (await factorsOf(world())).change(CAROL.id, () => ({ sessionsSince: (made += 1) })),
  };
  const pairs = Object.keys(requests).flatMap((what) => Object.keys(ends).map((end) => [what, end] as const));

  it.each(pairs)('F1-04: to %s sets no cookie of it: %s', async (what, end) => {
    const browser = newBrowser(world());
    await openAccount(world(), browser, { password });
    const ask = await requests[what]?.(browser);
    let ended: Promise<unknown> | undefined;
    const endNow = async () => {
      // Records that are saved together with it wait, too.
      await Promise.resolve();
      saving.set(undefined);
      return ends[end]?.(browser);
    };
    saving.set((saved) => saved.some(({ kind }) => kind === 'Session') && (ended ??= endNow()));
    const answer = await ask?.();
    expect(ended).toBeDefined();
    const cookies = answer?.headers.getSetCookie().filter((one) => one.startsWith('postern_session'));
    expect([answer?.status, cookies]).toEqual([expect.any(Number), []]);
    expect(answer?.status).toBeLessThan(500);
    await changeAccount(world(), CAROL.id, { disabled: false });
    expect(await silently(world(), browser, { client_id: 'first-party' })).toBe('login_required');
  });
});

describe('an app that comes back without asking', () => {
  let meanwhile: (() => Promise<unknown>) | undefined;
  const handStore = (store: Store): Store => ({
    ...store,
    records: {
      ...store.records,
      async destroy(kind, key) {
        const act = meanwhile;
        if (kind === 'Consent') meanwhile = undefined;
        if (kind === 'Consent') await act?.();
        return store.records.destroy(kind, key);
      },
    },
    ping: () => store.ping(),
    close: () => store.close(),
  });
  const world = useWorld({
    rotationTimer: NEVER,
    handStore,
    config: { ...CONFIG, lifetimes: { consent: '30d' } },
  });

  it('while it is withdrawn loses what it got', async () => {
    const browser = newBrowser(world());
    await openAccount(world(), browser, BOB);
    const scope = 'openid profile';
    await signIn(world(), { browser, person: 'bob', scope });
    const elsewhere = newBrowser(world());
    await openAccount(world(), elsewhere, BOB);
    const page = await openAccount(world(), browser, BOB);
    let token: string | undefined;
    meanwhile = async () => {
      ({ access_token: token } = (await signIn(world(), { browser: elsewhere, scope })).tokens);
    };
    const after = await browser.submit(page, '/withdraw', { id: 'web' });
    expect(after.text).toContain('no longer has access');
    expect((await userinfo(world(), token)).status).toBe(401);
    expect(idsOf(after, '/withdraw')).not.toContain('web');
  });
});
