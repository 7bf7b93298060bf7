// RFC 8628: a device without a browser, and the user who approves it.
import { decodeJwt } from 'jose';
import { afterEach, expect, it, vi } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { authorizationUrl } from '../../world/authorization-request.ts';
import { type Browser, formOf, type Page } from '../../world/browser.ts';
import { moveClock } from '../../world/clock.ts';
import {
  askForCodes,
  DEVICE_CONFIG,
  isConfirmPage,
  isDonePage,
  letIn,
  poll,
  postToDevice,
  typeCode,
} from './device.ts';
import { eachStore } from '../../world/each-store.ts';
import { finishPages, newBrowser, titleOf } from '../../world/person.ts';
import { introspect } from '../../world/presented-tokens.ts';
import { post } from '../../world/requests.ts';
import { rounds } from '../../world/rounds.ts';
import { createTurns } from '../../world/turns.ts';
import { API, PEOPLE } from '../../world/world.ts';

afterEach(() => {
  vi.useRealTimers();
});

const errorOf = ({ status, body }: Awaited<ReturnType<typeof poll>>) => [status, body['error']];
const PENDING = [400, 'authorization_pending'];
const WRONG = 'That code is wrong or has expired.';
const isWrong = ({ status, text }: Page) => status === 422 && text.includes(WRONG);

const ROUNDS = rounds(50, 6);
const turns = createTurns();
/** Every record that was written. */
const written: string[] = [];
const handStore = (store: Store): Store => ({
  ...store,
  records: new Proxy(store.records, {
    get(records, name) {
      const member: unknown = Reflect.get(records, name);
      if (typeof member !== 'function') return member;
      return (...args: readonly unknown[]) => {
        written.push(JSON.stringify(args));
        return Reflect.apply(member, records, args) as unknown;
      };
    },
  }),
});

eachStore('a device', { config: DEVICE_CONFIG, handStore, rotationTimer: turns.timer }, (world) => {
  it('gets tokens once its user has approved its code', async () => {
    const asked = await askForCodes(world());
    const { issuer } = world();
    expect(asked.answer.body).toEqual({
      device_code: asked.deviceCode,
      user_code: asked.userCode,
      verification_uri: `${issuer}/device`,
      verification_uri_complete: `${issuer}/device?user_code=${asked.userCode}`,
      expires_in: 600,
      interval: 5,
    });
    // RFC 8628 §6.1: 20^8, without vowels and digits.
    expect(asked.userCode).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    expect(errorOf(await poll(world(), asked))).toEqual(PENDING);

    const done = await letIn(world(), asked);
    expect([done.status, isDonePage(done)]).toEqual([200, true]);

    const { status, body } = await poll(world(), asked);
    expect([status, Object.keys(body).toSorted()]).toEqual([
      200,
      ['access_token', 'expires_in', 'id_token', 'refresh_token', 'scope', 'token_type'],
    ]);
    expect(decodeJwt(String(body['access_token']))).toMatchObject({
      sub: PEOPLE.alice,
      client_id: 'tv',
      aud: [API, issuer],
      scope: 'openid offline_access reports.read',
    });
    expect((await introspect(world(), String(body['access_token'])))['active']).toBe(true);
    expect(errorOf(await poll(world(), asked))).toEqual([400, 'invalid_grant']);
    const form = {
      grant_type: 'refresh_token',
      refresh_token: String(body['refresh_token']),
      client_id: 'tv',
    };
    expect((await post(world(), '/oauth/token', form)).status).toBe(200);

    const device = world()
      .recorded.audit('consent')
      .filter(({ action }) => action === 'device');
    expect(device).toMatchObject([{ outcome: 'success', client_id: 'tv', account_id: PEOPLE.alice }]);
    const failures = world()
      .recorded.audit('token_issued')
      .filter(({ outcome }) => outcome === 'failure');
    expect(failures.map(({ reason }) => reason)).toEqual(['invalid_grant']);
    const plain = [asked.deviceCode, asked.userCode, asked.userCode.replace('-', '')];
    expect(written.length).toBeGreaterThan(0);
    expect(written.filter((text) => plain.some((code) => text.includes(code)))).toEqual([]);
  });

  it('PR-12: is found by its code however that is spelled, and by nothing that only looks like it', async () => {
    const { userCode } = await askForCodes(world());
    const letters = userCode.replace('-', '');
    const typed = (code: string) => typeCode(newBrowser(world()), world(), code);
    for (const code of [userCode.toLowerCase(), letters, letters.replace(/^..../, '$& ').toLowerCase()]) {
      expect(isConfirmPage(await typed(code)), code).toBe(true);
    }
    const fullWidth = letters.replaceAll(/./g, (one) => String.fromCodePoint(one.charCodeAt(0) + 0xfee0));
    const script = `<script>alert('${userCode}')</script>`;
    for (const code of [fullWidth, userCode.replace('-', '–'), script, 'B'.repeat(10_240), '', 'AEIOUAEI']) {
      const page = await typed(code);
      expect(isWrong(page), code.slice(0, 40)).toBe(true);
      expect(page.text).not.toContain('<script>');
    }
    const browser = newBrowser(world());
    const { fields } = formOf(await browser.open(`${world().issuer}/device`), '/device');
    for (const more of [`user_code=${userCode}&user_code=${userCode}`, `user_code[]=${userCode}`]) {
      const page = await postToDevice(browser, world(), `xsrf=${fields['xsrf']}&${more}`);
      expect(page.status).toBeGreaterThanOrEqual(400);
      expect(page.status).toBeLessThan(500);
      expect(isConfirmPage(page)).toBe(false);
    }
  });

  it('PR-13: shows whose account it gets, and has no other address on its last page', async () => {
    const browser = newBrowser(world());
    const first = await askForCodes(world());
    const done = await letIn(world(), first, { browser });
    expect(isDonePage(done)).toBe(true);
    // A language link would request the page again, which only leads to an error.
    expect(done.text).not.toContain('?lang=');
    const { userCode } = await askForCodes(world());
    const page = await typeCode(browser, world(), userCode);
    expect(isConfirmPage(page)).toBe(true);
    expect(page.text).toContain('as <strong><bdi>alice</bdi></strong>?</h1>');

    moveClock(10);
    const strict = await askForCodes(world(), { max_age: '5' });
    const confirm = await typeCode(browser, world(), strict.userCode);
    const login = await browser.submit(confirm, '/device', { confirm: 'yes' });
    expect(login.text).toContain('name="password"');
  });

  it('PR-14: polls with its own code alone, and loses it to no other client', async () => {
    const asked = await askForCodes(world());
    await letIn(world(), asked);
    expect(errorOf(await poll(world(), asked, 'tv2'))).toEqual([400, 'invalid_grant']);
    expect(errorOf(await poll(world(), asked, 'first-party'))).toEqual([400, 'invalid_grant']);
    const nobody = {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: asked.deviceCode,
    };
    expect(errorOf(await post(world(), '/oauth/token', nobody))).toEqual([401, 'invalid_client']);
    // The store contains the id that the pages use for it, which gives no access.
    const names = written.flatMap((text) => /"kind":"DeviceCode","key":"([^"]+)"/.exec(text)?.[1] ?? []);
    expect(names.length).toBeGreaterThan(0);
    for (const name of new Set(names)) {
      for (const deviceCode of [name, `key:${name}`]) {
        expect(errorOf(await poll(world(), { deviceCode }))).toEqual([400, 'invalid_grant']);
      }
    }
    expect((await poll(world(), asked)).status).toBe(200);
  });

  it('PR-13: is asked to slow down, by five seconds more each time', async () => {
    const asked = await askForCodes(world());
    const after = async (seconds: number) => {
      moveClock(seconds);
      return (await poll(world(), asked)).body['error'];
    };
    expect(await after(0)).toBe('authorization_pending');
    expect(await after(1)).toBe('slow_down');
    expect(await after(6)).toBe('slow_down');
    expect(await after(14)).toBe('slow_down');
    expect(await after(21)).toBe('authorization_pending');
    await letIn(world(), asked);
    expect((await poll(world(), asked)).status).toBe(200);
  });

  it('PR-16: is approved by a form of its user’s browser only', async () => {
    const asked = await askForCodes(world(), { scope: 'openid' }, 'first-party');
    const browser = newBrowser(world());
    await silentSignIn(browser);
    const complete = String(asked.answer.body['verification_uri_complete']);
    for (const init of [{}, { headers: { 'sec-purpose': 'prefetch' } }]) {
      const page = await browser.request(complete, init);
      expect(isConfirmPage(page)).toBe(true);
      expect(page.text).toContain(asked.userCode);
      expect(page.text).toContain('127.0.0.0');
      expect(page.text).toContain('first-party');
      expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
      expect(page.headers.get('cache-control')).toBe('no-store');
    }
    expect((await browser.request(complete, { method: 'HEAD' })).status).toBe(405);
    const page = await browser.request(complete);
    const { xsrf = '' } = formOf(page, '/device').fields;
    const stranger = formOf(await newBrowser(world()).open(complete), '/device').fields['xsrf'] ?? '';
    const forged: readonly (readonly [string, Record<string, string>])[] = [
      ['', {}],
      [stranger, {}],
      [xsrf, { origin: 'https://evil.example' }],
      [xsrf, { 'sec-fetch-site': 'cross-site' }],
    ];
    for (const [token, headers] of forged) {
      const form = `xsrf=${token}&user_code=${asked.userCode}&confirm=yes`;
      expect((await postToDevice(browser, world(), form, headers)).status, token).toBe(403);
    }
    expect(errorOf(await poll(world(), asked, 'first-party'))).toEqual(PENDING);
    const fresh = await browser.request(complete);
    expect(isDonePage(await browser.submit(fresh, '/device', { confirm: 'yes' }))).toBe(true);
    expect((await poll(world(), asked, 'first-party')).status).toBe(200);
  });

  it('F1-22: has a page that stores nothing for a browser that only opens it', async () => {
    const { userCode } = await askForCodes(world());
    const saved = () => written.filter((text) => text.includes('"kind":')).length;
    const signedIn = newBrowser(world());
    await silentSignIn(signedIn);
    for (const browser of [newBrowser(world()), signedIn]) {
      const before = saved();
      for (const query of ['', '', `?user_code=${userCode}`, '?user_code=BCDF-GHJK'])
        await browser.open(`${world().issuer}/device${query}`);
      expect(saved()).toBe(before);
      const page = await browser.open(`${world().issuer}/device`);
      expect(page.headers.getSetCookie()).toEqual([]);
      expect(isConfirmPage(await typeCode(browser, world(), userCode))).toBe(true);
    }
  });

  it('PR-16: is let in beside a sign-out page that is open in another tab', async () => {
    const asked = await askForCodes(world());
    const browser = newBrowser(world());
    await silentSignIn(browser);
    const confirm = await typeCode(browser, world(), asked.userCode);
    const consent = await browser.submit(confirm, '/device', { confirm: 'yes' });
    const out = 'client_id=web&post_logout_redirect_uri=https%3A%2F%2Fapp.example%2Fout';
    await browser.open(`${world().issuer}/oauth/logout?${out}`);
    expect(isDonePage(await browser.submit(consent, '/consent'))).toBe(true);
    expect((await poll(world(), asked)).status).toBe(200);
  });

  it(`PR-15: is let in by a browser that comes back twice at once, in ${ROUNDS} rounds`, async () => {
    for (let round = 1; round <= ROUNDS; round += 1) {
      const asked = await askForCodes(world());
      const browser = newBrowser(world());
      const confirm = await typeCode(browser, world(), asked.userCode);
      const consent = await browser.submit(confirm, '/device', { confirm: 'yes' });
      const answered = await browser.send(consent, '/consent');
      const back = answered.headers.get('location') ?? '';
      const pages = await Promise.all([back, back].map((url) => browser.request(url)));
      expect(pages.filter(isDonePage), `round ${round}`).toHaveLength(1);
      expect(errorOf(await poll(world(), asked)), `round ${round}`).toEqual([200, undefined]);
    }
  });

  it('AZ-30: is refused when it says more than is worth keeping', async () => {
    const ask = (length: number) =>
      post(world(), '/oauth/device_authorization', {
        client_id: 'tv',
        scope: 'openid',
        login_hint: 'x'.repeat(length),
      });
    expect([(await ask(3000)).status, (await ask(5000)).status]).toEqual([200, 413]);
  });

  it('learns that its user refused, and that the code expired', async () => {
    const refused = await askForCodes(world());
    const browser = newBrowser(world());
    const page = await typeCode(browser, world(), refused.userCode);
    const cancelled = await browser.submit(page, '/device', { abort: 'yes' });
    expect([cancelled.status, titleOf(cancelled)]).toEqual([200, 'Request denied']);
    expect(errorOf(await poll(world(), refused))).toEqual([400, 'access_denied']);

    // Also at the sign-in pages.
    const later = await askForCodes(world());
    const confirm = await typeCode(browser, world(), later.userCode);
    const consent = await browser.submit(confirm, '/device', { confirm: 'yes' });
    expect(titleOf(await browser.submit(consent, '/cancel'))).toBe('Request denied');
    const refusals = world()
      .recorded.audit('consent')
      .filter(({ outcome }) => outcome === 'failure');
    expect(refusals.map(({ action, client_id: id }) => [action, id])).toEqual([
      ['device', 'tv'],
      [undefined, 'tv'],
    ]);
    expect(errorOf(await poll(world(), later))).toEqual([400, 'access_denied']);

    const late = await askForCodes(world());
    moveClock(601);
    await turns.turn();
    expect(errorOf(await poll(world(), late))).toEqual([400, 'expired_token']);
    expect(isWrong(await typeCode(newBrowser(world()), world(), late.userCode))).toBe(true);
  });

  it('PR-11: has one page without an answer for codes that are wrong, answered and too old', async () => {
    const codes = await Promise.all([1, 2, 3, 4].map(() => askForCodes(world())));
    const [allowed = '', denied = '', begun = '', old = ''] = codes.map(({ userCode }) => userCode);
    const browser = newBrowser(world());
    const answer = async (code: string, name: string) =>
      browser.submit(await typeCode(browser, world(), code), '/device', { [name]: 'yes' });
    const done = await browser.submit(await answer(allowed, 'confirm'), '/consent');
    expect([isDonePage(done), done.text.includes('<form')]).toEqual([true, false]);
    expect((await answer(denied, 'abort')).text).not.toContain('<form');
    await answer(begun, 'confirm');
    const seen: unknown[] = [];
    async function look(code: string, pages: readonly Page[]) {
      for (const { status, text } of pages)
        seen.push([status, text.replaceAll(code, '').replaceAll(/name="xsrf" value="\w+"/g, '')]);
    }
    for (const code of [allowed, denied, begun, 'BCDF-GHJK', old]) {
      if (code === old) moveClock(601);
      const link = await browser.open(`${world().issuer}/device?user_code=${code}`);
      await look(code, [link, await typeCode(newBrowser(world()), world(), code)]);
    }
    expect(seen[0]).toEqual([422, expect.not.stringContaining('name="confirm"')]);
    expect(new Set(seen.map((page) => JSON.stringify(page))).size).toBe(1);
  });

  it('PR-11: has that page, too, once its app may not do this any more', async () => {
    const { userCode } = await askForCodes(world());
    const browser = newBrowser(world());
    expect(isConfirmPage(await typeCode(browser, world(), userCode))).toBe(true);
    const without = DEVICE_CONFIG.clients.filter((client) => client['client_id'] !== 'tv');
    const tv = { ...DEVICE_CONFIG.clients.find((client) => client['client_id'] === 'tv') };
    const codeAlone = {
      ...tv,
      grant_types: ['authorization_code', 'refresh_token'],
      redirect_uris: ['https://tv.example/cb'],
    };
    await world().reload({ ...DEVICE_CONFIG, clients: [...without, codeAlone] });
    expect(isWrong(await typeCode(browser, world(), userCode))).toBe(true);
    await world().reload(DEVICE_CONFIG);
    expect(isConfirmPage(await typeCode(browser, world(), userCode))).toBe(true);
  });

  async function silentSignIn(browser: Browser): Promise<void> {
    const page = await browser.open(authorizationUrl(world(), { client_id: 'first-party', scope: 'openid' }));
    await finishPages(browser, page, 'alice');
  }
});
