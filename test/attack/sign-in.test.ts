// Sign-in, consent and sessions: forms of other sites, planted cookies, skipped steps and races have no effect.
import { describe, expect, it, onTestFinished } from 'vitest';
import { authorize, takeCode } from '../world/app.ts';
import { authorizationUrl, VERIFIER } from '../world/authorization-request.ts';
import { type Browser, formOf, type Page } from '../world/browser.ts';
import { complete, finishPages, newBrowser, redirectOf, sessionOf, signOut } from '../world/person.ts';
import { introspect } from '../world/presented-tokens.ts';
import { formPost, textOf, toQuery } from '../world/requests.ts';
import { changeAccount } from '../world/store-access.ts';
import { redeem } from '../world/token-endpoint.ts';
import {
  CALLBACK,
  GENEROUS,
  PASSWORDS,
  PEOPLE,
  SECRETS,
  startWorld,
  type StoreName,
  type World,
} from '../world/world.ts';
import { decodeJwt } from 'jose';
import { startTwoProcesses } from '../world/two-processes.ts';
import { useWorld } from '../world/each-store.ts';
import { useStarted } from '../world/started.ts';

const world = useWorld({ config: GENEROUS });

const ALICE = { username: 'alice', password: PASSWORDS.alice };

async function openLogin(browser: Browser = newBrowser(world()), at: World = world()): Promise<Page> {
  const page = await browser.open(authorizationUrl(at, { scope: 'openid email' }));
  expect(page.text).toContain('name="password"');
  return page;
}

async function openConsent(browser: Browser, person: keyof typeof PASSWORDS = 'alice'): Promise<Page> {
  const page = await openLogin(browser);
  const consent = await browser.submit(page, '/login', { username: person, password: PASSWORDS[person] });
  expect(consent.text).toContain('/consent"');
  return consent;
}

/** Returns the `error` of a silent request, or the subject that it signs in. */
async function whoIs(browser: Browser, client: 'web' | 'web2' = 'web'): Promise<string> {
  const page = await browser.request(
    authorizationUrl(world(), { client_id: client, prompt: 'none', scope: 'openid' }),
  );
  const { query } = redirectOf(page);
  return query['error'] ?? 'signed in';
}

describe('forms of other sites', () => {
  it('LG-01: a sign-in without the token of its page, with that of another or of another step, is 403', async () => {
    const browser = newBrowser(world());
    const page = await openLogin(browser);
    const { action, fields } = formOf(page, '/login');
    const stranger = newBrowser(world());
    const foreign = formOf(await openLogin(stranger), '/login').fields['csrf'] ?? '';
    const consented = formOf(await openConsent(stranger, 'bob'), '/consent').fields['csrf'] ?? '';
    expect(foreign).not.toBe(fields['csrf']);
    for (const csrf of [undefined, '', 'x', foreign, consented, `${fields['csrf']}x`]) {
      const answer = await browser.post(action, { ...ALICE, csrf });
      expect([answer.status, answer.headers.get('location')], String(csrf)).toEqual([403, null]);
      expect(sessionOf(browser)).toBeUndefined();
    }
    const twice = `${toQuery({ ...fields, ...ALICE })}&csrf=x`;
    expect((await browser.post(action, twice)).status).toBe(400);
    // The interaction is unchanged.
    expect((await browser.submit(page, '/login', ALICE)).text).toContain('/consent"');
  });

  it('LG-01: the same holds for consent, and for cancelling', async () => {
    const browser = newBrowser(world());
    const page = await openConsent(browser);
    for (const step of ['/consent', '/cancel']) {
      const { action } = formOf(page, step);
      for (const csrf of ['', 'x', SECRETS.web]) {
        const answer = await browser.post(action, { csrf });
        expect([answer.status, answer.headers.get('location')], step).toEqual([403, null]);
      }
    }
    expect((await browser.submit(page, '/consent')).url.startsWith(`${CALLBACK}?code=`)).toBe(true);
  });

  it('LG-03: a form that a browser says comes from elsewhere is 403, although its token is right', async () => {
    const browser = newBrowser(world());
    const page = await openLogin(browser);
    const { action, fields } = formOf(page, '/login');
    const form = { ...fields, ...ALICE };
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: `${world().issuer}.evil.example` },
      { origin: world().issuer.replace('http:', 'https:') },
      { origin: 'http://127.0.0.1' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: world().issuer, 'sec-fetch-site': 'cross-site' },
    ]) {
      const answer = await browser.post(action, form, { ...headers });
      expect([answer.status, answer.headers.get('location')], JSON.stringify(headers)).toEqual([403, null]);
      expect(sessionOf(browser)).toBeUndefined();
    }
    const own = await browser.post(action, form, { origin: world().issuer, 'sec-fetch-site': 'same-origin' });
    expect(own.status).toBe(303);
  });

  it('LG-04: a sign-in that is no form is 415', async () => {
    const browser = newBrowser(world());
    const { action, fields } = formOf(await openLogin(browser), '/login');
    const form = { ...fields, ...ALICE };
    for (const type of [
      'text/plain',
      'application/json',
      'multipart/form-data; boundary=x',
      'application/x-www-form-urlencoded2',
      '',
    ]) {
      const answer = await browser.post(action, form, { 'content-type': type });
      expect([answer.status, answer.headers.get('location')], type).toEqual([415, null]);
    }
    const json = JSON.stringify(form);
    expect((await browser.post(action, json, { 'content-type': 'application/json' })).status).toBe(415);
    expect(sessionOf(browser)).toBeUndefined();
  });

  it('LG-02: no other method signs anybody in, also when a header or a field says so', async () => {
    const browser = newBrowser(world());
    const { action, fields } = formOf(await openLogin(browser), '/login');
    const query = toQuery({ ...fields, ...ALICE });
    const get = await browser.request(`${action}?${query}`);
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST']);
    const put = await browser.request(action, { ...formPost(query), method: 'PUT' });
    expect(put.status).toBe(405);
    const overridden = await browser.request(`${action}?${query}&_method=POST`, {
      headers: { 'x-http-method-override': 'POST' },
    });
    expect(overridden.status).toBe(405);
    const inQuery = await browser.post(`${action}?${query}`, '');
    expect(inQuery.status).toBe(403);
    expect(sessionOf(browser)).toBeUndefined();
  });
});

describe('cookies', () => {
  it('LG-05: a session id that was planted before is not the one after the sign-in', async () => {
    const known = 'known-by-the-attacker-0123456789abcdefghijk';
    for (const planted of [
      [{ name: 'postern_session', value: known, path: '/' }],
      [
        { name: 'postern_session', value: known, path: '/' },
        { name: 'postern_session.sig', value: 'AAAAAAAAAAAAAAAAAAAAAAAAAAA', path: '/' },
      ],
    ]) {
      const browser = newBrowser(world());
      for (const cookie of planted) browser.setCookie(cookie);
      await openConsent(browser);
      expect(sessionOf(browser)).toMatch(/^[\w-]{43}$/);
      expect(sessionOf(browser)).not.toBe(known);
      const attacker = newBrowser(world());
      for (const cookie of planted) attacker.setCookie(cookie);
      expect(await whoIs(attacker)).toBe('login_required');
    }
  });

  it('LG-05: a valid session of the attacker, planted in the browser of alice, does not become hers', async () => {
    const attacker = await takeCode(world(), { person: 'bob', scope: 'openid' });
    const planted = attacker.browser.cookies.filter(({ name }) => name.startsWith('postern_session'));
    expect(planted).toHaveLength(2);
    const victim = newBrowser(world());
    for (const cookie of planted) victim.setCookie(cookie);
    const page = await victim.open(authorizationUrl(world(), { prompt: 'login' }));
    let next = await victim.submit(page, '/login', ALICE);
    // The engine ends bob's session first, by a form that submits itself.
    if (next.text.includes('/logout/confirm')) next = await victim.submit(next, '/logout/confirm');
    const done = await finishPages(victim, next, 'alice');
    const code = new URL(done.url).searchParams.get('code') ?? '';
    const answer = await redeem(world(), { ...attacker, code, verifier: VERIFIER });
    expect(decodeJwt(textOf(answer, 'id_token')).sub).toBe(PEOPLE.alice);
    expect(sessionOf(victim)).not.toBe(planted[0]?.value);
    // The session cookie that the attacker knows belongs to no session.
    const again = await attacker.browser.request(
      authorizationUrl(world(), { prompt: 'none', scope: 'openid' }),
    );
    const silent = redirectOf(again).query['code'];
    if (silent !== undefined) {
      const late = await redeem(world(), { ...attacker, code: silent, verifier: VERIFIER });
      expect(decodeJwt(textOf(late, 'id_token')).sub).toBe(PEOPLE.bob);
    }
  });

  it('LG-05: the session id changes at the sign-in, and the old one stops working', async () => {
    const { browser } = await takeCode(world(), { scope: 'openid' });
    const before = browser.cookies.filter(({ name }) => name.startsWith('postern_session'));
    const page = await browser.open(authorizationUrl(world(), { prompt: 'login' }));
    await browser.submit(page, '/login', ALICE);
    expect(sessionOf(browser)).not.toBe(before[0]?.value);
    const old = newBrowser(world());
    for (const cookie of before) old.setCookie(cookie);
    expect(await whoIs(old)).toBe('login_required');
    expect(await whoIs(browser)).toBe('signed in');
  });

  it('LG-07: after alice, bob in the same browser is bob everywhere', async () => {
    const alice = await takeCode(world(), { scope: 'openid email' });
    const aliceToken = textOf(await redeem(world(), alice), 'access_token');
    const { browser } = alice;
    const sessionOfAlice = sessionOf(browser);
    await signOut(world(), browser);
    for (let turn = 0; turn < 3; turn += 1) {
      const bob = await takeCode(world(), { scope: 'openid email', person: 'bob', browser });
      const answer = await redeem(world(), bob);
      for (const token of ['id_token', 'access_token']) {
        expect(decodeJwt(textOf(answer, token)).sub).toBe(PEOPLE.bob);
      }
      const claims = await introspect(world(), textOf(answer, 'access_token'), 'web');
      expect(claims['sub']).toBe(PEOPLE.bob);
    }
    expect(sessionOf(browser)).not.toBe(sessionOfAlice);
    expect(await introspect(world(), aliceToken, 'web')).toEqual({ active: false });
  });

  it("LG-07: a consent page of alice can't be answered by bob, who signed in meanwhile in another tab", async () => {
    const browser = newBrowser(world());
    const consentOfAlice = await openConsent(browser);
    const login = await browser.open(authorizationUrl(world(), { client_id: 'web2', prompt: 'login' }));
    let next = await browser.submit(login, '/login', { username: 'bob', password: PASSWORDS.bob });
    if (next.text.includes('/logout/confirm')) next = await browser.submit(next, '/logout/confirm');
    const answer = await browser.submit(consentOfAlice, '/consent');
    const code = new URL(answer.url).searchParams.get('code');
    expect([answer.status, code]).toEqual([400, null]);
  });

  it('LG-08: a session cookie with one character changed, and one without its signature, is no session', async () => {
    const { browser } = await takeCode(world(), { scope: 'openid' });
    const cookies = browser.cookies.filter(({ name }) => name.startsWith('postern_session'));
    expect(await whoIs(browser)).toBe('signed in');
    for (const target of cookies) {
      for (const at of [0, 10, target.value.length - 2]) {
        const changed = target.value.charAt(at) === 'A' ? 'B' : 'A';
        const value = `${target.value.slice(0, at)}${changed}${target.value.slice(at + 1)}`;
        const thief = newBrowser(world());
        for (const cookie of cookies) thief.setCookie(cookie === target ? { ...cookie, value } : cookie);
        expect(await whoIs(thief), `${target.name} at ${at}`).toBe('login_required');
      }
      const half = newBrowser(world());
      for (const cookie of cookies) if (cookie !== target) half.setCookie(cookie);
      expect(await whoIs(half), `without ${target.name}`).toBe('login_required');
    }
  });

  it('LG-08: no cookie of an interaction is left once it has ended, by a sign-in or by cancel', async () => {
    const left = ({ cookies }: Browser) =>
      cookies.map(({ name }) => name).filter((name) => /_(interaction|resume|browser)/.test(name));
    const signedIn = newBrowser(world());
    await complete(world(), 'alice', {}, signedIn);
    expect(left(signedIn)).toEqual([]);
    const browser = newBrowser(world());
    const page = await openLogin(browser);
    expect(left(browser)).toHaveLength(5);
    await browser.submit(page, '/cancel');
    expect(left(browser)).toEqual([]);
  });

  it('LG-08: an interaction belongs to the browser with its signed cookie', async () => {
    const browser = newBrowser(world());
    const page = await openLogin(browser);
    const uid = page.url.split('/').at(-1) ?? '';
    for (const cookies of [
      [],
      [{ name: 'postern_interaction', value: uid, path: `/interaction/${uid}` }],
      [
        { name: 'postern_interaction', value: uid, path: `/interaction/${uid}` },
        { name: 'postern_interaction.sig', value: 'A'.repeat(27), path: `/interaction/${uid}` },
      ],
    ]) {
      const thief = newBrowser(world());
      for (const cookie of cookies) thief.setCookie(cookie);
      expect((await thief.request(page.url)).status).toBe(400);
      const resume = await thief.request(`${world().issuer}/oauth/authorize/${uid}`);
      expect([resume.status, resume.headers.get('location')]).toEqual([400, null]);
    }
    expect((await browser.request(page.url)).status).toBe(200);
  });

  it.each(['https://id.example', undefined])('LG-08: planted cookies sign nobody in (%s)', async (issuer) => {
    // With the account page, the answer to the password redirects to the next step of the sign-in.
    const config = { ...GENEROUS, account: true };
    const place = await startWorld({ ...(issuer && { issuer }), config });
    onTestFinished(() => place.stop());
    const thief = newBrowser(place);
    const page = await thief.open(authorizationUrl(place, { client_id: 'first-party' }));
    const form = formOf(page, '/login');
    const init = formPost({ ...form.fields, ...ALICE });
    const victim = newBrowser(place);
    // The victim has a pending sign-in, and every cookie that a neighbouring host can plant: none with __Host-.
    await victim.open(authorizationUrl(place));
    const plant = () => {
      for (const cookie of thief.cookies) if (cookie.path !== '/') victim.setCookie(cookie);
    };
    plant();
    expect((await victim.request(page.url)).status).toBe(400);
    expect((await victim.request(form.action, init)).status).toBe(400);
    const answered = await thief.request(form.action, init);
    const resume = answered.headers.get('location') ?? '';
    plant();
    const refused = await victim.request(resume);
    expect([refused.status, refused.headers.get('location')]).toEqual([400, null]);
    expect(victim.cookies.filter(({ name }) => name.includes('session'))).toEqual([]);
    // The browser that began the sign-in can continue it.
    expect(redirectOf(await thief.request(resume)).query).toHaveProperty('code');
  });

  it('F1-03: no cookie that a neighbour can plant counts as that of a sign-in, or pushes one out', async () => {
    const place = await startWorld({ issuer: 'https://id.example', config: GENEROUS });
    const PREFIX = '__Host-postern_browser.';
    const begin = async (browser: Browser) => browser.open(authorizationUrl(place));
    const openOf = (browser: Browser) => browser.cookies.filter(({ name }) => name.startsWith(PREFIX));
    const statusOf = async (browser: Browser, url: string) => (await browser.request(url)).status;
    onTestFinished(() => place.stop());
    const [thief, victim] = [newBrowser(place), newBrowser(place)];
    const [planted, own] = [await begin(thief), await begin(victim)];
    const [mark, ofVictim] = [openOf(thief)[0], openOf(victim)[0]];
    if (mark === undefined || ofVictim === undefined) throw new Error('no cookie of a sign-in');
    for (const cookie of thief.cookies) if (cookie.path !== '/') victim.setCookie(cookie);
    const bare = mark.name.slice('__Host-'.length);
    const names = [bare, `__Secure-${bare}`, `__HOST-${bare}`, `\u00a0${mark.name}`, `x${mark.name}`];
    // How a browser sends a cookie without a name, and a value that looks like another cookie.
    names.push(`=${mark.name}`, `x=${mark.name}`, `x="a, ${mark.name}`);
    for (const name of names) {
      victim.setCookie({ name, value: mark.value, path: '/' });
      expect(await statusOf(victim, planted.url), name).toBe(400);
    }
    for (const name of names) {
      for (let index = 10; index < 22; index += 1) {
        const made = name.replace(/.{43}$/, (uid) => `${uid.slice(2)}${index}`);
        victim.setCookie({ name: made, value: `zzzzzzzz.${'A'.repeat(43)}`, path: '/' });
      }
    }
    expect(await statusOf(victim, own.url)).toBe(200);

    // The cookie of another sign-in doesn't work, nor does its value under this one's name; and none works after the end.
    const other = newBrowser(place);
    for (const cookie of victim.cookies) if (cookie !== ofVictim) other.setCookie(cookie);
    const second = await begin(other);
    expect([await statusOf(other, own.url), await statusOf(other, second.url)]).toEqual([400, 200]);
    other.setCookie({ ...ofVictim, value: openOf(other)[0]?.value ?? '' });
    expect(await statusOf(other, own.url)).toBe(400);
    expect((await finishPages(victim, own, 'alice')).url).toContain('code=');
    expect(openOf(victim)).toEqual([]);
    victim.setCookie(ofVictim);
    expect(await statusOf(victim, own.url)).toBe(400);
  });

  it('F1-03: an eleventh sign-in ends the oldest, and one that is declined leaves no cookie', async () => {
    const browser = newBrowser(world());
    const open = () => browser.cookies.filter(({ name }) => name.startsWith('postern_browser'));
    const pages = [];
    for (let index = 0; index < 11; index += 1) pages.push(await openLogin(browser));
    const [oldest, second, third] = pages;
    if (oldest === undefined || second === undefined || third === undefined) throw new Error('no page');
    expect(open()).toHaveLength(10);
    const refused = await browser.submit(oldest, '/login', ALICE);
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('more than ten sign-ins')]);
    expect((await browser.submit(third, '/cancel')).url).toContain('error=access_denied');
    expect(open()).toHaveLength(9);
    // The consent page belongs to the same sign-in, so it displaces no other sign-in.
    await openLogin(browser);
    expect((await browser.submit(second, '/login', ALICE)).text).toContain('/consent"');
    expect(open()).toHaveLength(10);
    for (const { url } of pages.slice(3)) expect((await browser.request(url)).status).toBe(200);
  });

  it('LG-09: over https every cookie is Secure, HttpOnly, Lax and prefixed', async () => {
    const secure = await startWorld({ issuer: 'https://id.example', config: GENEROUS });
    onTestFinished(() => secure.stop());
    const browser = newBrowser(secure);
    const first = await browser.request(authorizationUrl(secure));
    const page = await browser.open(first.headers.get('location') ?? '');
    expect(page.headers.get('content-security-policy')).toContain("img-src 'self' https: data:;");
    const inGerman = await browser.request(`${page.url}?lang=de`);
    const signedIn = await browser.send(page, '/login', ALICE);
    // Cookies that the pages set in addition to the engine's.
    const isOurs = (cookie: string) => /^__Host-postern_(device|language)=/.test(cookie);
    const ofForm = signedIn.headers.getSetCookie();
    const ours = [
      ...[page, inGerman].flatMap(({ headers }) => headers.getSetCookie()),
      ...ofForm.filter(isOurs),
    ];
    expect([...new Set(ours.map((cookie) => cookie.split('=')[0] ?? ''))]).toEqual(
      expect.arrayContaining(['__Host-postern_device', '__Host-postern_language']),
    );
    for (const cookie of ours) {
      const attributes = cookie.toLowerCase().split('; ').slice(1);
      const wanted = ['secure', 'httponly', 'samesite=lax', 'path=/'];
      expect(attributes, cookie).toEqual(expect.arrayContaining(wanted));
      expect(attributes.join(), cookie).not.toContain('domain');
    }
    const cookies = [...first.headers.getSetCookie(), ...ofForm].filter(
      (cookie) => !isOurs(cookie) && !cookie.includes('expires=Thu, 01 Jan 1970'),
    );
    expect(cookies.map((cookie) => cookie.split(/=|\.(?!sig)/)[0] ?? '').toSorted()).toEqual(
      `__Host-postern_browser __Host-postern_browser __Host-postern_session __Host-postern_session.sig
        __Secure-postern_interaction __Secure-postern_interaction.sig __Secure-postern_interaction
        __Secure-postern_interaction.sig __Secure-postern_resume __Secure-postern_resume.sig
        __Secure-postern_resume __Secure-postern_resume.sig`
        .split(/\s+/)
        .toSorted(),
    );
    for (const cookie of cookies) {
      const attributes = cookie.toLowerCase().split('; ').slice(1);
      expect(attributes, cookie).toEqual(expect.arrayContaining(['secure', 'httponly', 'samesite=lax']));
      expect(attributes.join(), cookie).not.toContain('domain');
      const path = attributes.find((one) => one.startsWith('path='));
      if (cookie.startsWith('__Host-')) expect(path).toBe('path=/');
      else expect(path).toMatch(/^path=\/(interaction|oauth\/authorize)\/.{43}$/);
    }
  });
});

describe('steps', () => {
  it("LG-12: a step can't be skipped, and skipping is never a 500", async () => {
    const browser = newBrowser(world());
    const login = await openLogin(browser);
    const form = formOf(login, '/login');
    const asConsent = form.action.replace('/login', '/consent');
    const skipped = await browser.post(asConsent, form.fields);
    expect([skipped.status, skipped.headers.get('location')]).toEqual([400, null]);
    for (const step of ['mfa', 'confirm', 'submit', 'abort', 'done']) {
      const answer = await browser.post(form.action.replace('/login', `/${step}`), form.fields);
      expect(answer.status, step).toBe(404);
    }
    // The URL where a finished sign-in continues leads back to the page.
    const uid = login.url.split('/').at(-1);
    const resumed = await browser.open(`${world().issuer}/oauth/authorize/${uid}`);
    expect(resumed.url).not.toContain('code=');
    expect(resumed.status).toBe(200);
    expect(resumed.text).toContain('name="password"');

    const consent = await openConsent(newBrowser(world()));
    const asLogin = formOf(consent, '/consent').action.replace('/consent', '/login');
    const fields = { ...formOf(consent, '/consent').fields, ...ALICE };
    const back = await browser.post(asLogin, fields);
    expect([back.status, back.headers.get('location')]).toEqual([400, null]);
  });

  it('LG-13: a consent grants what was asked and shown, whatever its form says', async () => {
    const browser = newBrowser(world());
    const consent = await openConsent(browser);
    const foreign = await authorize(world(), { person: 'bob' });
    const done = await browser.submit(consent, '/consent', {
      scope: 'openid email profile admin reports.read offline_access',
      scopes: 'admin',
      resource: 'urn:example:api',
      grantId: String(foreign.callback.searchParams.get('code')),
      grant_id: 'x',
      accountId: PEOPLE.bob,
      account_id: PEOPLE.bob,
      client_id: 'web2',
      redirect_uri: 'https://evil.example/cb',
      prompt: 'none',
    });
    const code = new URL(done.url).searchParams.get('code') ?? '';
    expect(done.url.startsWith(`${CALLBACK}?code=`)).toBe(true);
    const answer = await redeem(world(), { ...foreign, client: 'web', code, verifier: VERIFIER });
    expect([answer.status, answer.body['scope']]).toEqual([200, 'openid email']);
    expect(decodeJwt(textOf(answer, 'access_token'))).toMatchObject({ sub: PEOPLE.alice, client_id: 'web' });
    const more = await browser.request(
      authorizationUrl(world(), { scope: 'openid profile', prompt: 'none' }),
    );
    expect(redirectOf(more).query['error']).toBe('consent_required');
  });

  it('LG-14: a native app is asked for consent each time, because anybody can pretend to be it', async () => {
    const { browser } = await takeCode(world(), { client: 'native', scope: 'openid' });
    const page = await browser.open(authorizationUrl(world(), { client_id: 'native' }));
    expect(page.text).toContain('/consent"');
    const silent = await browser.request(
      authorizationUrl(world(), { client_id: 'native', prompt: 'none', scope: 'openid' }),
    );
    expect(redirectOf(silent).query['error']).toBe('interaction_required');
  });
});

describe.each<StoreName>(['lmdb', 'redis'])('two processes on %s', (storeName) => {
  const two = useStarted(() => startTwoProcesses(storeName));

  it('LG-11: of five sign-ins in parallel on one page one is taken, in four rounds', async () => {
    const [first, second] = two().nodes;
    for (let round = 0; round < 4; round += 1) {
      const browser = newBrowser(first);
      const other = newBrowser(second);
      const page = await openLogin(browser, first);
      for (const cookie of browser.cookies) other.setCookie(cookie);
      const { action, fields } = formOf(page, '/login');
      const people = [
        ALICE,
        { username: 'bob', password: PASSWORDS.bob },
        { username: 'alice', password: 'wrong' },
        ALICE,
        { username: 'bob', password: PASSWORDS.bob },
      ];
      const answers = await Promise.all(
        people.map((person, index) =>
          (index % 2 === 0 ? browser : other).post(action, { ...fields, ...person }),
        ),
      );
      const statuses = answers.map(({ status }) => status);
      expect(
        statuses.filter((status) => status === 303),
        `round ${round}`,
      ).toHaveLength(1);
      for (const status of statuses) expect([303, 400, 401]).toContain(status);
      // On lmdb the same request continued the sign-in.
      if (storeName === 'lmdb') continue;
      // Of five browsers that continue the sign-in, one gets a session.
      const resume = answers.find(({ status }) => status === 303)?.headers.get('location') ?? '';
      const resumes = await Promise.all(
        [browser, other, browser, other, browser].map((one) => one.request(resume)),
      );
      const went = resumes.filter(({ status }) => status === 303);
      expect(went, `round ${round}: ${resumes.map(({ status }) => status).join()}`).toHaveLength(1);
      for (const { status } of resumes) expect([303, 400]).toContain(status);
    }
    expect(two().errors()).toBe('');
  });
});

describe('who is there', () => {
  it("LG-18: unknown, wrong password and disabled can't be told apart", async () => {
    await changeAccount(world(), PEOPLE.bob, { disabled: true });
    try {
      const pages: string[] = [];
      for (const [username, password] of [
        ['nobody', 'wrong-password-12'],
        ['alice', 'wrong-password-12'],
        ['bob', PASSWORDS.bob],
        ['bob', 'wrong-password-12'],
        ['alice', 'x'.repeat(5000)],
        ['nobody', ''],
      ] as const) {
        const browser = newBrowser(world());
        const page = await openLogin(browser);
        const answer = await browser.submit(page, '/login', { username, password });
        const uid = page.url.split('/').at(-1) ?? '';
        expect(answer.url).toContain(uid);
        const csrf = formOf(answer, '/login').fields['csrf'] ?? '';
        const headers = [...answer.headers].filter(
          ([name]) => !['date', 'content-length', 'x-request-id'].includes(name),
        );
        pages.push(
          JSON.stringify({
            status: answer.status,
            headers,
            text: answer.text
              .replaceAll(uid, 'UID')
              .replaceAll(csrf, 'CSRF')
              .replaceAll(username, 'USERNAME'),
          }),
        );
        expect(sessionOf(browser)).toBeUndefined();
      }
      expect(new Set(pages).size).toBe(1);
      expect(pages[0]).toContain('"status":401');
    } finally {
      await changeAccount(world(), PEOPLE.bob, { disabled: false });
    }
  });

  it("LG-34: a disabled user with a live session has to sign in, which they can't, and it is never a 500", async () => {
    const { browser } = await takeCode(world(), { person: 'bob', scope: 'openid' });
    const consent = await openConsent(newBrowser(world()), 'bob');
    await changeAccount(world(), PEOPLE.bob, { disabled: true });
    try {
      for (let turn = 0; turn < 2; turn += 1) {
        expect(await whoIs(browser)).toBe('login_required');
        const page = await browser.open(authorizationUrl(world()));
        expect(page.status).toBe(200);
        expect(page.text).toContain('name="password"');
        const refused = await browser.submit(page, '/login', { username: 'bob', password: PASSWORDS.bob });
        expect(refused.status).toBe(401);
      }
      expect(consent.status).toBe(200);
      // Another user can sign in with this browser.
      const page = await browser.open(authorizationUrl(world()));
      let next = await browser.submit(page, '/login', ALICE);
      if (next.text.includes('/logout/confirm')) next = await browser.submit(next, '/logout/confirm');
      const done = await finishPages(browser, next, 'alice');
      expect(done.url.startsWith(`${CALLBACK}?code=`)).toBe(true);
    } finally {
      await changeAccount(world(), PEOPLE.bob, { disabled: false });
    }
  });

  it('LG-34: who is disabled between sign-in and consent gets no code', async () => {
    const browser = newBrowser(world());
    const consent = await openConsent(browser, 'bob');
    await changeAccount(world(), PEOPLE.bob, { disabled: true });
    try {
      const answer = await browser.submit(consent, '/consent');
      expect(answer.url).not.toContain('code=');
      expect(answer.status).toBeLessThan(500);
      expect((await browser.open(consent.url)).status).toBe(400);
    } finally {
      await changeAccount(world(), PEOPLE.bob, { disabled: false });
    }
  });
});

describe('pages', () => {
  it('LG-16: no page can be framed, cached or sniffed', async () => {
    const browser = newBrowser(world());
    const login = await openLogin(browser);
    const consent = await browser.submit(login, '/login', ALICE);
    await browser.submit(consent, '/consent');
    const pages: Record<string, Page> = {
      login,
      consent,
      expired: await browser.request(login.url),
      'error of the engine': await browser.request(authorizationUrl(world(), { redirect_uri: 'x' })),
      'not found': await browser.request(`${world().issuer}/nothing`),
      logout: await browser.request(`${world().issuer}/oauth/logout`),
      'logout error': await browser.request(`${world().issuer}/oauth/logout?id_token_hint=x`),
      'logout without a session': await newBrowser(world()).request(`${world().issuer}/oauth/logout`),
      'signed out': await browser.request(`${world().issuer}/oauth/logout/success`),
    };
    for (const [name, { headers }] of Object.entries(pages)) {
      expect(headers.get('content-type'), name).toBe('text/html; charset=utf-8');
      expect(headers.get('x-frame-options'), name).toBe('DENY');
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy, name).toContain("frame-ancestors 'none'");
      expect(policy, name).toContain("default-src 'none'");
      expect(policy, name).toContain("base-uri 'none'");
      expect(policy, name).not.toContain('unsafe-');
      // This issuer is on localhost, where an app on the same machine may have its logo.
      expect(policy, name).toContain("img-src 'self' https: data: http://localhost:* http://127.0.0.1:*;");
      expect(headers.get('x-content-type-options'), name).toBe('nosniff');
      expect(headers.get('cache-control'), name).toMatch(/no-store/);
    }
  });

  it('LG-38: nothing that anybody can write becomes part of a page', async () => {
    const nasty = `"><script>alert(1)</script><img src=x onerror=alert(1)>'`;
    const client = {
      client_id: 'web',
      client_name: nasty,
      client_secret: 'env:TEST_WEB',
      grant_types: ['authorization_code'],
      scope: 'openid',
      redirect_uris: [CALLBACK],
      logo_uri: 'https://app.example/logo?a&amp;b',
    };
    const config = { ...GENEROUS, resources: [], branding: { name: nasty } };
    // A name is shown as text; a URL with such characters is invalid.
    const broken = { ...client, logo_uri: 'https://app.example/"onerror="alert(1)' };
    await expect(startWorld({ config: { ...config, clients: [broken] } })).rejects.toThrow(/logo_uri/);
    const odd = await startWorld({ config: { ...config, clients: [client] } });
    onTestFinished(() => odd.stop());
    const browser = newBrowser(odd);
    const login = await browser.open(
      authorizationUrl(odd, { scope: 'openid', login_hint: nasty, ui_locales: nasty }),
    );
    const wrong = await browser.submit(login, '/login', { username: nasty, password: nasty });
    const consent = await browser.submit(wrong, '/login', ALICE);
    expect(consent.text).toContain('/consent"');
    const pages = [
      login,
      wrong,
      consent,
      await browser.request(`${odd.issuer}/oauth/logout?client_id=web`),
      await browser.request(authorizationUrl(odd, { redirect_uri: nasty })),
      await browser.request(authorizationUrl(odd, { client_id: nasty })),
      await browser.request(`${odd.issuer}/oauth/logout?id_token_hint=${encodeURIComponent(nasty)}`),
      await browser.request(`${odd.issuer}/${encodeURIComponent(nasty)}`),
    ];
    for (const { text, url } of pages) {
      expect(text, url).not.toContain('<script>alert');
      expect(text, url).not.toContain('<img src=x');
      expect(text, url).not.toContain(nasty.slice(0, 9));
    }
    for (const { text } of [login, wrong, consent]) {
      expect(text).toContain('&lt;script&gt;alert(1)');
      expect(text).toContain('src="https://app.example/logo?a&amp;amp;b"');
    }
  });
});
