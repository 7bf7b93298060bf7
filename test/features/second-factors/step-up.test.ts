// Step-up: what a user with a session is asked for, by their way to sign in and the needs of the request, the app and the file. The
// tables are the promise; the tests run each row.
import { decodeJwt } from 'jose';
import { expect, it } from 'vitest';
import type { Browser, Page } from '../../world/browser.ts';
import { HOUR, MINUTE, moveClock, standingClock } from '../../world/clock.ts';
import { anyStore } from '../../world/each-store.ts';
import { begin, codeOf, finishPages, newBrowser, signInAs, silently } from '../../world/person.ts';
import type { Parameters } from '../../world/requests.ts';
import {
  type AuthenticatorApp,
  giveOneTimeCodes,
  givePasskey,
  isSecondStep,
  newAuthenticatorApp,
  newRecoveryCodes,
  setFactors,
  SoftwareKey,
} from '../../world/second-factors.ts';
import { redeem, refresh } from '../../world/token-endpoint.ts';
import { createTurns } from '../../world/turns.ts';
import { GENEROUS, type OpenWorld, worldClients } from '../../world/world.ts';
import { NAMES } from './factors.ts';

const CLIENTS = {
  web2: { sign_in: { require: 'second_factor' } },
  post: { sign_in: { require: 'passkey' } },
  spa: { sign_in: { require: 'second_factor', max_age: '1h' } },
};
const CONFIG = {
  ...GENEROUS,
  sign_in: { passkeys: true, one_time_codes: true, recovery_codes: 10 },
  clients: worldClients(CLIENTS),
};
const turns = createTurns();

type Answer =
  | 'in'
  | 'password'
  | 'second step'
  | 'adds one'
  | 'whom to ask'
  | 'login_required'
  | 'interaction_required'
  | 'invalid_grant'
  | 'access_denied';

const OVER = 2 * HOUR;

/** The request, the age of the session in seconds, and the answers by the way the user signed in. */
type Row = readonly [what: string, request: Parameters, age: number, answers: readonly Answer[]];

const WAYS = ['password', 'code', 'passkey', 'security key', 'recovery code'] as const;
type Way = (typeof WAYS)[number];

const NONE = { prompt: 'none' };
// prettier-ignore
const TABLE: readonly Row[] = [
  //                                                                            password       code           passkey        security key   recovery code
  ['nothing',                          {},                                   0, ['in',          'in',          'in',          'in',          'in']],
  ['nothing, later',                   {},                                OVER, ['in',          'in',          'in',          'in',          'in']],
  ['require: second_factor',           { client_id: 'web2' },                0, ['whom to ask', 'in',          'in',          'in',          'in']],
  ['require: passkey',                 { client_id: 'post' },                0, ['whom to ask', 'adds one',    'in',          'adds one',    'whom to ask']],
  ['max_age of the app',               { client_id: 'spa' },                 0, ['whom to ask', 'in',          'in',          'in',          'in']],
  ['max_age of the app, later',        { client_id: 'spa' },              OVER, ['whom to ask', 'second step', 'second step', 'second step', 'second step']],
  ['acr_values second_factor',         { acr_values: NAMES.second_factor },  0, ['in',          'in',          'in',          'in',          'in']],
  ['acr_values passkey',               { acr_values: NAMES.passkey },        0, ['in',          'in',          'in',          'in',          'in']],
  ['acr_values unknown',               { acr_values: 'urn:example:gold' },   0, ['in',          'in',          'in',          'in',          'in']],
  ['max_age',                          { max_age: '60' },                 OVER, ['password',    'password',    'password',    'password',    'password']],
  ['none',                             NONE,                                 0, ['in',          'in',          'in',          'in',          'in']],
  ['none, require: second_factor',     { ...NONE, client_id: 'web2' },       0, ['interaction_required', 'in', 'in',          'in',          'in']],
  ['none, require: passkey',           { ...NONE, client_id: 'post' },       0, ['interaction_required', 'interaction_required', 'in', 'interaction_required', 'interaction_required']],
  ['none, max_age of the app, later',  { ...NONE, client_id: 'spa' },     OVER, ['interaction_required', 'login_required', 'login_required', 'login_required', 'login_required']],
  ['none, max_age',                    { ...NONE, max_age: '60' },        OVER, ['login_required', 'login_required', 'login_required', 'login_required', 'login_required']],
];
// prettier-ignore
const AFTERWARDS: readonly Row[] = [
  ['a session from before the factor', {},                                   0, ['in',          'second step', 'second step', 'second step', 'second step']],
  ['none, a session from before',      NONE,                                 0, ['in',          'interaction_required', 'interaction_required', 'interaction_required', 'interaction_required']],
];
/** Requirements that were added to the file after the tokens were issued. */
const REFRESHED: readonly (readonly [require: string, answers: readonly Answer[]])[] = [
  ['second_factor', ['invalid_grant', 'in', 'in', 'in', 'in']],
  ['passkey', ['invalid_grant', 'invalid_grant', 'in', 'invalid_grant', 'invalid_grant']],
];
const ACR: Readonly<Record<Way, readonly [string, readonly string[]]>> = {
  password: [NAMES.password, ['pwd']],
  code: [NAMES.second_factor, ['pwd', 'otp', 'mfa']],
  passkey: [NAMES.passkey, ['hwk', 'user', 'mfa']],
  'security key': [NAMES.second_factor, ['pwd', 'hwk', 'mfa']],
  'recovery code': [NAMES.second_factor, ['pwd', 'mfa']],
};

function answerOf(page: Page): string {
  const error = new URL(page.url).searchParams.get('error');
  if (error !== null) return error === 'consent_required' ? 'in' : error;
  if (codeOf(page) !== undefined || page.text.includes('/consent"')) return 'in';
  if (page.status === 403) return 'whom to ask';
  if (/action="[^"]*\/enrol"/.test(page.text)) return 'adds one';
  if (isSecondStep(page)) return 'second step';
  return page.text.includes('name="password"') ? 'password' : page.text;
}

/** Gives alice the factors of this way; returns how she proves them at a page. */
async function enrol(world: OpenWorld, way: Way): Promise<(browser: Browser, page: Page) => Promise<Page>> {
  if (way === 'password') {
    await setFactors(world, 'alice');
    return (browser, page) => signInAs(browser, page, 'alice');
  }
  if (way === 'passkey') {
    const key = await givePasskey(world);
    return (browser, page) => browser.submit(page, '/passkey', { response: key.assert(world, page) });
  }
  const withPassword =
    (action: string, fields: (page: Page) => Readonly<Record<string, string>>) =>
    async (browser: Browser, page: Page) => {
      const step = await signInAs(browser, page, 'alice');
      return browser.submit(step, action, fields(step));
    };
  if (way === 'security key') {
    const key = await givePasskey(world, 'alice', { key: new SoftwareKey({ verifiesUser: false }) });
    return withPassword('/passkey', (page) => ({ response: key.assert(world, page) }));
  }
  const { codes, recoveryCodes } = await newRecoveryCodes(world);
  const app: AuthenticatorApp = await giveOneTimeCodes(world, 'alice', { recoveryCodes });
  if (way === 'code') return withPassword('/code', () => ({ code: app.code() }));
  let used = -1;
  return withPassword('/code', () => ({ recovery_code: codes[(used += 1)] ?? '' }));
}

anyStore('step-up', { issuer: 'https://id.example', config: CONFIG, rotationTimer: turns.timer }, (world) => {
  standingClock();
  const pass = async (seconds: number) => {
    moveClock(seconds);
    await turns.turn();
  };
  /** Opens a request, and confirms the notices first. */
  const open = async (browser: Browser, request: Parameters) => {
    const { page } = await begin(world(), { scope: 'openid', ...request }, { browser });
    return page.text.includes('/notice"') ? browser.submit(page, '/notice') : page;
  };
  async function signedIn(way: Way, request: Parameters = {}) {
    await pass(2 * MINUTE);
    const show = await enrol(world(), way);
    const browser = newBrowser(world());
    const page = await show(browser, await open(browser, request));
    const afterNotice = page.text.includes('/notice"') ? await browser.submit(page, '/notice') : page;
    const done = await finishPages(browser, afterNotice, 'alice');
    expect(codeOf(done), `${way} ${done.text}`).toBeDefined();
    return { browser, code: codeOf(done) };
  }

  it.each(WAYS.map((way, column) => [way, column] as const))(
    'MF-28, AC-34: with a session by %s',
    async (way, column) => {
      await world().reload(CONFIG);
      for (const wanted of [false, true]) {
        const { browser, code } = await signedIn(way);
        const { body } = await redeem(world(), { code });
        const [acr, amr] = ACR[way];
        const token = decodeJwt(String(body['id_token']));
        expect([token['acr'], new Set(token['amr'] as string[])]).toEqual([acr, new Set(amr)]);
        if (wanted) await pass(OVER);
        const rows = TABLE.filter(([, , age]) => age > 0 === wanted);
        const answers = [];
        for (const [what, request] of rows) answers.push([what, answerOf(await open(browser, request))]);
        expect(answers).toEqual(rows.map(([what, , , expected]) => [what, expected[column]]));
      }
      const { browser } = await signedIn('password');
      await enrol(world(), way);
      const answers = [];
      for (const [what, request] of AFTERWARDS) answers.push([what, answerOf(await open(browser, request))]);
      expect(answers).toEqual(AFTERWARDS.map(([what, , , expected]) => [what, expected[column]]));
    },
  );

  it.each(WAYS.map((way, column) => [way, column] as const))(
    'MF-28: a chain by %s at an app that requires more since then',
    async (way, column) => {
      const answers = [];
      for (const [require] of REFRESHED) {
        await world().reload(CONFIG);
        const request = { scope: 'openid offline_access', prompt: 'consent' };
        const { code } = await signedIn(way, request);
        const { body } = await redeem(world(), { code });
        await world().reload({
          ...CONFIG,
          clients: worldClients({ ...CLIENTS, web: { sign_in: { require } } }),
        });
        const renewed = await refresh(world(), String(body['refresh_token']));
        answers.push([require, renewed.status === 200 ? 'in' : renewed.body['error']]);
        const before = decodeJwt(String(body['id_token']));
        if (renewed.status !== 200) continue;
        const after = decodeJwt(String(renewed.body['id_token']));
        expect([after['acr'], after['amr']]).toEqual([before['acr'], before['amr']]);
      }
      expect(answers).toEqual(REFRESHED.map(([require, expected]) => [require, expected[column]]));
    },
  );

  it('MF-28: an age is asked at sign-ins only: a refresh goes on with what was proved', async () => {
    await world().reload({
      ...CONFIG,
      clients: worldClients({ web: { sign_in: { require: 'second_factor', max_age: '1h' } } }),
    });
    const { browser, code } = await signedIn('code', { scope: 'openid offline_access', prompt: 'consent' });
    const { body } = await redeem(world(), { code });
    await pass(OVER);
    expect(isSecondStep(await open(browser, {}))).toBe(true);
    const renewed = await refresh(world(), String(body['refresh_token']));
    expect(renewed.status).toBe(200);
    const [before, after] = [body, renewed.body].map((one) => decodeJwt(String(one['access_token'])));
    for (const claim of ['acr', 'amr', 'auth_time']) expect(after?.[claim]).toEqual(before?.[claim]);
    expect(before?.['acr']).toBe(NAMES.second_factor);
  });

  it('AC-34: acr says what was reached, whatever the app wished for', async () => {
    await world().reload(CONFIG);
    for (const acr_values of ['urn:example:gold', NAMES.passkey]) {
      const { code } = await signedIn('code', { acr_values });
      const { body } = await redeem(world(), { code });
      expect(decodeJwt(String(body['id_token']))['acr']).toBe(NAMES.second_factor);
    }
  });

  it('asks without openid, too (RFC 9470)', async () => {
    await world().reload({ ...CONFIG, clients: worldClients() });
    const app = newAuthenticatorApp('alice');
    const key = await givePasskey(world(), 'alice', { oneTimeCode: app.factor });
    const browser = newBrowser(world());
    const step = await signInAs(browser, await open(browser, {}), 'alice');
    await finishPages(browser, await browser.submit(step, '/code', { code: app.code() }), 'alice');
    const api = { scope: 'reports.read', nonce: undefined };
    const wish = { ...api, acr_values: NAMES.passkey };
    expect(await silently(world(), browser, wish)).toBe('interaction_required');
    const page = await open(browser, wish);
    expect(isSecondStep(page)).toBe(true);
    const proved = await browser.submit(page, '/passkey', { response: key.assert(world(), page) });
    const { body } = await redeem(world(), { code: codeOf(await finishPages(browser, proved, 'alice')) });
    expect([body['id_token'], decodeJwt(String(body['access_token']))['acr']]).toEqual([
      undefined,
      NAMES.passkey,
    ]);
    await pass(OVER);
    expect(answerOf(await open(browser, api))).toBe('in');
    expect(answerOf(await open(browser, { ...api, max_age: '60' }))).toBe('password');
    expect(answerOf(await open(browser, { ...api, max_age: 'soon' }))).toBe('invalid_request');
    await world().reload(CONFIG);
  });

  it('asks for the code alone, renews auth_time, and takes no acr from a form (AC-34)', async () => {
    await world().reload(CONFIG);
    const { browser } = await signedIn('password');
    const app = await giveOneTimeCodes(world());
    await pass(10 * MINUTE);
    expect(await silently(world(), browser, { acr_values: NAMES.second_factor })).toBe(
      'interaction_required',
    );
    const asked = await open(browser, { acr_values: NAMES.second_factor, max_age: '3600' });
    expect(isSecondStep(asked)).toBe(true);
    const forged = { acr: NAMES.passkey, amr: 'hwk user', code: app.code() };
    const done = await finishPages(browser, await browser.submit(asked, '/code', forged), 'alice');
    const { body } = await redeem(world(), { code: codeOf(done) });
    const token = decodeJwt(String(body['id_token']));
    expect([token['acr'], token['auth_time']]).toEqual([NAMES.second_factor, Math.floor(Date.now() / 1000)]);
  });
});
