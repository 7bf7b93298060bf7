// The second step of a sign-in over HTTP: until it is done there is no session, whatever the user, the browser or another caller does.
import { describe, expect, it } from 'vitest';
import { withNotice } from '../../../src/features/second-factors/notices.ts';
import { type Notice } from '../../../src/users/factors.ts';
import { createAccountStates } from '../../../src/users/account-state.ts';
import type { Browser, Page } from '../../world/browser.ts';
import { DAY, HOUR, MINUTE, moveClock, standingClock } from '../../world/clock.ts';
import { useWorld } from '../../world/each-store.ts';
import {
  begin,
  codeOf,
  complete,
  enterPassword,
  isConsent,
  isLogin,
  newBrowser,
  sessionOf,
  signInAs,
  silently,
} from '../../world/person.ts';
import type { Parameters } from '../../world/requests.ts';
import {
  factorsOf,
  giveOneTimeCodes,
  givePasskey,
  isSecondStep,
  newAuthenticatorApp,
  newRecoveryCodes,
  ownFactors,
  setFactors,
  SoftwareKey,
} from '../../world/second-factors.ts';
import { NEVER } from '../../world/turns.ts';
import { GENEROUS, type OpenWorld, PEOPLE, worldClients } from '../../world/world.ts';

const OPTIONS = {
  // Passkeys belong to a host name.
  issuer: 'https://id.example',
  rotationTimer: NEVER,
  config: {
    ...GENEROUS,
    sign_in: { passkeys: true, one_time_codes: true, recovery_codes: 10 },
    groups: { staff: 'Employees' },
    clients: worldClients({
      post: { access: { groups: ['staff'] } },
      web2: { sign_in: { require: 'passkey' } },
    }),
  },
};

const named = ({ cookies }: Browser, part: string) => cookies.filter(({ name }) => name.includes(part));
const isTrusted = (browser: Browser) => named(browser, 'device').length > 0;

/** Signs in as alice, up to the second step. */
async function reachSecondStep(world: OpenWorld, changes: Parameters = {}, browser = newBrowser(world)) {
  const { page: step } = await enterPassword(world, changes, { browser });
  expect([step.status, isSecondStep(step)], step.text).toEqual([200, true]);
  return { browser, page: step };
}

/** Expects that no user is signed in, and that the browser isn't trusted. */
async function expectStranger(world: OpenWorld, browser: Browser): Promise<void> {
  expect([sessionOf(browser), isTrusted(browser)]).toEqual([undefined, false]);
  expect(await silently(world, browser)).toBe('login_required');
}

/** Whether the proof is enough for an app that needs a passkey. */
async function isForPasskeyApp(world: OpenWorld, browser: Browser): Promise<boolean> {
  const answer = await silently(world, browser, { client_id: 'web2' });
  expect(['consent_required', 'interaction_required']).toContain(answer);
  return answer === 'consent_required';
}

describe('the second step in its page', () => {
  const place = useWorld(OPTIONS);
  standingClock();

  it('comes again by reload, by the back button and in another tab of the same sign-in', async () => {
    const app = await giveOneTimeCodes(place());
    const browser = newBrowser(place());
    const { page: login } = await begin(place(), {}, { browser });
    const step = await signInAs(browser, login, 'alice');
    const reloaded = await browser.open(step.url);
    expect(isSecondStep(reloaded)).toBe(true);
    // Back, and the password once more.
    const again = await signInAs(browser, login, 'alice');
    expect(isSecondStep(again)).toBe(true);
    const consent = await browser.submit(reloaded, '/code', { code: app.code() });
    expect([isConsent(consent), isTrusted(browser)]).toEqual([true, true]);
    const late = await browser.submit(again, '/code', { code: app.code(1) });
    expect([late.status, codeOf(late)]).toEqual([400, undefined]);
    expect((await browser.submit(login, '/login', { username: 'alice', password: 'x' })).status).toBe(400);
  });

  it('isn’t asked for once the user has no second factor left', async () => {
    await giveOneTimeCodes(place());
    const { browser, page } = await reachSecondStep(place());
    await setFactors(place(), 'alice');
    const login = await browser.open(page.url);
    expect([login.status, isLogin(login)]).toEqual([200, true]);
    expect(isConsent(await signInAs(browser, login, 'alice'))).toBe(true);
  });

  it('MF-33: the session after it is new, and the one before stops working', async () => {
    await setFactors(place(), 'alice');
    const { browser } = await complete(place(), 'alice');
    const before = named(browser, 'session');
    const app = newAuthenticatorApp('alice');
    await setFactors(place(), 'alice', { oneTimeCode: app.factor });
    const { page } = await begin(place(), {}, { browser });
    expect([isSecondStep(page), isLogin(page)]).toEqual([true, false]);
    const attacker = newBrowser(place());
    for (const cookie of browser.cookies) attacker.setCookie(cookie);
    expect(codeOf(await browser.submit(page, '/code', { code: app.code() }))).toBeDefined();
    expect(sessionOf(browser)).not.toBe(before[0]?.value);
    expect(await silently(place(), attacker)).toBe('login_required');
    expect(await silently(place(), browser)).toBe('signed in');
  });
});

describe('wrong codes', () => {
  const place = useWorld(OPTIONS);
  standingClock();

  it('MF-22: twenty an hour are looked at, over all sign-ins and addresses, and a right password resets nothing', async () => {
    moveClock(2 * HOUR);
    const app = await giveOneTimeCodes(place());
    const trusted = await reachSecondStep(place());
    const consent = await trusted.browser.submit(trusted.page, '/code', { code: app.code(-1) });
    expect(isConsent(consent)).toBe(true);
    const statuses: number[] = [];
    for (let turn = 0; turn < 8; turn += 1) {
      const { browser, page } = await reachSecondStep(place());
      for (let guess = 0; guess < 3; guess += 1) {
        statuses.push((await browser.submit(page, '/code', { code: app.wrong() })).status);
      }
    }
    expect(statuses).toEqual([...Array<number>(20).fill(401), ...Array<number>(4).fill(429)]);
    const right = await reachSecondStep(place());
    const refused = await right.browser.submit(right.page, '/code', { code: app.code() });
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true]);
    await expectStranger(place(), right.browser);
    // Her own browser has a separate count.
    const { page } = await reachSecondStep(place(), { prompt: 'login' }, trusted.browser);
    expect(isConsent(await trusted.browser.submit(page, '/code', { code: app.code() }))).toBe(true);
    // A passkey can't be guessed, so no limit applies.
    const key = await givePasskey(place(), 'alice', { oneTimeCode: app.factor });
    const other = await reachSecondStep(place());
    const done = await other.browser.submit(other.page, '/passkey', {
      response: key.assert(place(), other.page),
    });
    expect(isConsent(done)).toBe(true);
  });

  it('leave right passwords counted until the whole sign-in is done', async () => {
    const app = await giveOneTimeCodes(place(), 'bob');
    const passwordOnly = async () => {
      const browser = newBrowser(place());
      const { page } = await begin(place(), {}, { browser });
      return { browser, page: await signInAs(browser, page, 'bob') };
    };
    const first = await passwordOnly();
    let last = first;
    for (let turn = 0; turn < 40 && last.page.status === 200; turn += 1) last = await passwordOnly();
    expect(last.page.status).toBe(429);
    expect(isConsent(await first.browser.submit(first.page, '/code', { code: app.code() }))).toBe(true);
    expect(isSecondStep((await passwordOnly()).page)).toBe(true);
  });
});

describe('guessed codes after a correct password', () => {
  const config = { ...OPTIONS.config, account: true, trusted_proxies: ['127.0.0.1'] };
  const place = useWorld({ ...OPTIONS, config });
  standingClock();

  it('F1-13: end at a limit with a way out, spare trusted browsers, and notify the user', async () => {
    const app = newAuthenticatorApp('alice');
    const { codes, recoveryCodes } = await newRecoveryCodes(place());
    const failed = (failures: number) =>
      setFactors(place(), 'alice', { oneTimeCode: { ...app.factor, failures }, recoveryCodes });
    await failed(0);
    const own = await reachSecondStep(place());
    await own.browser.submit(own.page, '/code', { code: app.code(-1) });
    await failed(78);
    const { browser, page } = await reachSecondStep(place());
    const answers = [];
    for (const code of [app.wrong(), app.wrong(), app.code()]) {
      const { status, text } = await browser.submit(page, '/code', { code });
      answers.push([status, text.includes('name="code"'), text.includes('Use a passkey or a recovery code')]);
    }
    expect(answers).toEqual([
      [401, true, false],
      [403, false, true],
      [403, false, true],
    ]);
    await expectStranger(place(), browser);
    const records = place().recorded.audit();
    expect(records.filter(({ event }) => event === 'account_lock')).toMatchObject([
      { account_id: PEOPLE.alice, method: 'one_time_code', reason: 'locked', times: 80 },
    ]);
    expect(records.filter(({ reason }) => reason === 'locked')).toHaveLength(3);

    const again = await reachSecondStep(place(), { prompt: 'login' }, own.browser);
    const notice = await own.browser.submit(again.page, '/code', { code: app.code() });
    expect(notice.text).toContain('several incorrect codes');
    await own.browser.submit(notice, '/notice');
    await failed(80);
    const lost = await reachSecondStep(place());
    await lost.browser.submit(lost.page, '/code', { recovery_code: codes[0] ?? '' });
    const next = await reachSecondStep(place());
    expect(isSecondStep(await next.browser.submit(next.page, '/code', { code: app.code(1) }))).toBe(false);
    const key = await givePasskey(place(), 'alice', { oneTimeCode: { ...app.factor, failures: 100 } });
    const { browser: withKey, page: asked } = await reachSecondStep(place());
    await withKey.submit(asked, '/passkey', { response: key.assert(place(), asked) });
    expect((await ownFactors(place())).oneTimeCode?.failures).toBeUndefined();
    await setFactors(place(), 'alice');
    const account = await complete(place(), 'alice');
    const { text } = await account.browser.open(`${place().issuer}/account`);
    for (const event of ['Several incorrect codes were entered', 'A recovery code was used'])
      expect(text.split(event)).toHaveLength(2);
  });

  it('F1-13: leave recovery codes usable at another address', async () => {
    const { codes, recoveryCodes } = await newRecoveryCodes(place());
    const app = await giveOneTimeCodes(place(), 'alice', { recoveryCodes });
    let last = 0;
    for (let turn = 0; turn < 9; turn += 1) {
      const { browser, page } = await reachSecondStep(place());
      const fields = turn < 4 ? { code: app.wrong() } : { recovery_code: 'AAAA' };
      for (let guess = 0; guess < 5; guess += 1) last = (await browser.submit(page, '/code', fields)).status;
    }
    expect(last).toBe(429);
    const { browser, page } = await reachSecondStep(place());
    const from = { 'x-forwarded-for': '198.51.100.9' };
    const done = await browser.submit(page, '/code', { recovery_code: codes[0] ?? '' }, from);
    expect([done.status, isSecondStep(done)]).toEqual([200, false]);
  });
});

describe('a notice', () => {
  const place = useWorld({ ...OPTIONS, config: { ...OPTIONS.config, account: true } });
  standingClock();
  const isNotice = (page: Page) => page.text.includes('/notice"');
  const addNotice = async (world: OpenWorld, notice: Omit<Notice, 'at'>) =>
    (await factorsOf(world)).change(PEOPLE.alice, ({ notices }) => ({
      notices: withNotice(notices, { ...notice, at: Math.floor(Date.now() / 1000) }),
    }));
  /** Signs in a minute later, in a new session, and confirms a notice if there is one. */
  async function signedIn(world: OpenWorld, fields: () => Record<string, string>, seconds = MINUTE) {
    moveClock(seconds);
    const { browser, page } = await reachSecondStep(world);
    const next = await browser.submit(page, '/code', fields());
    if (isNotice(next)) await browser.submit(next, '/notice');
    return { browser, text: next.text, isTold: isNotice(next) };
  }

  it('F1-12: stays until a session reads it that is older than what it is about, and didn’t do it', async () => {
    const { codes, recoveryCodes } = await newRecoveryCodes(place());
    const app = await giveOneTimeCodes(place(), 'alice', { recoveryCodes });
    const code = () => ({ code: app.code() });
    const owner = await signedIn(place(), code);
    const thief = await signedIn(place(), () => ({ recovery_code: codes[0] ?? '' }));
    expect([owner.isTold, thief.isTold]).toEqual([false, true]);
    expect(isNotice((await begin(place(), {}, { browser: thief.browser })).page)).toBe(false);
    expect((await signedIn(place(), code)).isTold).toBe(true);
    const { page } = await begin(place(), {}, { browser: owner.browser });
    expect(page.text).toContain('You used a recovery code');
    // Confirming the page doesn't mark a notice as read that arrives while it is open.
    moveClock(MINUTE);
    await addNotice(place(), { what: 'passkey_refused' });
    const next = await owner.browser.submit(page, '/notice');
    expect([isNotice(next), next.text.includes('You used a recovery code')]).toEqual([true, false]);
    await owner.browser.submit(next, '/notice');
    const last = await signedIn(place(), code);
    expect(last.isTold).toBe(false);

    // No session can displace it, and the session that caused it doesn't mark it as read.
    const list = await last.browser.open(`${place().issuer}/account/factors`);
    moveClock(MINUTE);
    await addNotice(place(), { what: 'factor_added', method: 'passkey' });
    for (let turn = 0; turn < 12; turn += 1) await last.browser.submit(list, '/recovery-codes');
    const { page: own } = await begin(place(), {}, { browser: last.browser });
    expect(own.text).toContain('A passkey was added');
    await last.browser.submit(own, '/notice');
    expect((await signedIn(place(), code)).text).toContain('New recovery codes were generated');
  });

  it('F1-12: lasts three days once another session has read it, and otherwise until it is read', async () => {
    const app = await giveOneTimeCodes(place());
    await addNotice(place(), { what: 'passkey_refused' });
    const code = () => ({ code: app.code() });
    const told = [];
    for (const seconds of [4 * DAY, MINUTE]) told.push((await signedIn(place(), code, seconds)).isTold);
    await addNotice(place(), { what: 'passkey_refused' });
    for (const seconds of [0, DAY, 3 * DAY])
      told.push((await signedIn(place(), code, seconds + MINUTE)).isTold);
    expect(told).toEqual([true, false, true, true, false]);
  });
});

describe('a recovery code', () => {
  const place = useWorld(OPTIONS);
  standingClock();

  it('is asked for where it is all that is left: the passkey is refused, or its method is off', async () => {
    const { codes, recoveryCodes } = await newRecoveryCodes(place());
    const key = new SoftwareKey();
    await setFactors(place(), 'alice');
    const { browser: earlier } = await complete(place(), 'alice');
    await setFactors(place(), 'alice', { passkeys: [{ ...key.factor, suspect: true }], recoveryCodes });
    const { browser, page } = await reachSecondStep(place());
    expect(page.text).toContain('name="recovery_code"');
    expect(page.text).not.toContain('name="code"');
    const notice = await browser.submit(page, '/code', { recovery_code: codes[0] ?? '' });
    expect(isConsent(await browser.submit(notice, '/notice'))).toBe(true);
    // An earlier session is asked the same.
    const { page: asked } = await begin(place(), {}, { browser: earlier });
    expect([asked.status, asked.text.includes('name="recovery_code"')]).toEqual([200, true]);
    await setFactors(place(), 'alice', { passkeys: [key.factor], recoveryCodes });
    const sign_in = { one_time_codes: true, recovery_codes: 10 };
    await place().reload({ ...OPTIONS.config, sign_in, clients: worldClients() });
    const { page: off } = await reachSecondStep(place());
    expect([off.text.includes('/passkey"'), off.text.includes('name="recovery_code"')]).toEqual([
      false,
      true,
    ]);
    await place().reload(OPTIONS.config);
  });

  it('MF-24: signs in once, however it is written, and the next page says so and how many are left', async () => {
    const { codes, recoveryCodes } = await newRecoveryCodes(place());
    await giveOneTimeCodes(place(), 'alice', { recoveryCodes });
    const [code = ''] = codes;
    const { browser, page } = await reachSecondStep(place());
    const notice = await browser.submit(page, '/code', {
      recovery_code: ` ${code.toLowerCase().replaceAll('-', ' ')}`,
    });
    expect(notice.text).toContain('2 left.');
    // The notice comes before the app gets anything, also after a reload.
    expect((await browser.open(notice.url)).text).toContain('2 left.');
    const consent = await browser.submit(notice, '/notice');
    expect(isConsent(consent)).toBe(true);
    expect(codeOf(await browser.submit(consent, '/consent'))).toBeDefined();
    expect(await isForPasskeyApp(place(), browser)).toBe(false);
    expect((await begin(place(), { prompt: 'consent' }, { browser })).page.text).toContain('/consent"');
    const again = await reachSecondStep(place());
    const refused = await again.browser.submit(again.page, '/code', { recovery_code: code });
    expect([refused.status, isSecondStep(refused)]).toEqual([401, true]);
  });
});

describe('a passkey', () => {
  const place = useWorld(OPTIONS);
  standingClock();
  const wordsOf = ({ text }: Page) =>
    text.replaceAll(/(?:csrf" value|data-options)="[^"]*"/g, '').replaceAll(/interaction\/[\w-]+/g, '');

  async function openLogin(world: OpenWorld, changes: Parameters = {}, browser = newBrowser(world)) {
    const { page } = await begin(world, changes, { browser });
    return { browser, page };
  }

  it('alone signs in from the sign-in page, and the browser is a trusted one from then on', async () => {
    const key = await givePasskey(place());
    const { browser, page } = await openLogin(place());
    const consent = await browser.submit(page, '/passkey', { response: key.assert(place(), page) });
    expect([consent.status, isConsent(consent), isTrusted(browser)]).toEqual([200, true, true]);
    expect(await isForPasskeyApp(place(), browser)).toBe(true);
  });

  it('MF-05: that has not verified its user is refused alone, and taken after the password', async () => {
    const key = await givePasskey(place());
    const { browser, page } = await openLogin(place());
    const refused = await browser.submit(page, '/passkey', {
      response: key.assert(place(), page, { verifiesUser: false }),
    });
    expect([refused.status, isLogin(refused)]).toEqual([401, true]);
    await expectStranger(place(), browser);
    const step = await reachSecondStep(place());
    const consent = await step.browser.submit(step.page, '/passkey', {
      response: key.assert(place(), step.page, { verifiesUser: false }),
    });
    expect(isConsent(consent)).toBe(true);
    expect(await isForPasskeyApp(place(), step.browser)).toBe(false);
  });

  it('MF-11: that is unknown, wrong or of a disabled user gets the same page, and counts at the address', async () => {
    const key = await givePasskey(place());
    const states = createAccountStates(place().openedStore.documents);
    const pages: Page[] = [];
    const attempt = async (passkey: SoftwareKey, changes = {}) => {
      const { browser, page } = await openLogin(place());
      pages.push(
        await browser.submit(page, '/passkey', { response: passkey.assert(place(), page, changes) }),
      );
      await expectStranger(place(), browser);
    };
    await attempt(new SoftwareKey());
    await attempt(key, { challenge: 'AAAA' });
    await attempt(key, { origin: 'https://evil.example' });
    await attempt(key, { type: 'webauthn.create' });
    await states.update(PEOPLE.alice, { disabled: true });
    await attempt(key);
    await states.update(PEOPLE.alice, { disabled: false });
    expect(new Set(pages.map(({ status }) => status))).toEqual(new Set([401]));
    expect(new Set(pages.map(wordsOf)).size).toBe(1);
  });

  it('MF-09: no page tells whether a username has one', async () => {
    await givePasskey(place());
    const pages = await Promise.all(
      ['alice', 'bob', 'nobody'].map(async (login_hint) => (await openLogin(place(), { login_hint })).page),
    );
    const shapes = pages.map(({ status, text }) => {
      const options =
        /data-options="([^"]*)"/.exec(text)?.[1]?.replace(/challenge&#34;:&#34;[\w-]+/, '') ?? 'none';
      return [status, options];
    });
    expect(shapes[1]).toEqual(shapes[0]);
    expect(shapes[2]).toEqual(shapes[0]);
    expect(String(shapes[0]?.[1])).toContain('allowCredentials&#34;:[]');
    // Not after a wrong password either.
    for (const username of ['alice', 'nobody']) {
      const { browser, page } = await openLogin(place());
      const answer = await browser.submit(page, '/login', { username, password: 'wrong-password-1' });
      expect([answer.status, isSecondStep(answer)]).toEqual([401, false]);
    }
  });

  it('signs one user in while another is at the second step of the same sign-in', async () => {
    const key = await givePasskey(place(), 'bob');
    const app = await giveOneTimeCodes(place(), 'alice');
    const begun = await reachSecondStep(place());
    const login = await begun.browser.open(`${begun.page.url}?account=other`);
    const consent = await begun.browser.submit(login, '/passkey', { response: key.assert(place(), login) });
    expect([isConsent(consent), consent.text.includes('bob')]).toEqual([true, true]);

    await setFactors(place(), 'alice');
    const { browser } = await complete(place(), 'alice');
    await setFactors(place(), 'alice', { oneTimeCode: app.factor });
    const { page: asked } = await begin(place(), {}, { browser });
    expect(isSecondStep(asked)).toBe(true);
    const other = await browser.open(`${asked.url}?account=other`);
    let next = await browser.submit(other, '/passkey', { response: key.assert(place(), other) });
    if (next.text.includes('/logout/confirm')) next = await browser.submit(next, '/logout/confirm');
    expect([isConsent(next), next.text.includes('bob')]).toEqual([true, true]);
    await setFactors(place(), 'bob');
  });
});

describe('what is left of a sign-in', () => {
  const place = useWorld(OPTIONS);
  standingClock();

  const auditOf = ({ recorded }: OpenWorld) =>
    recorded
      .audit()
      .filter(({ event }) => event === 'sign_in' || event === 'second_factor')
      .map(({ event, outcome, method, reason, account_id: id }) => [event, outcome, method, reason, id]);

  it('the audit trail has each success and failure by its method, and a password alone is no sign-in', async () => {
    const { codes, recoveryCodes } = await newRecoveryCodes(place());
    const app = newAuthenticatorApp('alice');
    const key = await givePasskey(place(), 'alice', { oneTimeCode: app.factor, recoveryCodes });
    const { alice } = PEOPLE;
    const recordsOf = async (act: () => Promise<unknown>) => {
      const before = auditOf(place()).length;
      await act();
      return auditOf(place()).slice(before);
    };
    const { browser, page } = await reachSecondStep(place());
    expect(await recordsOf(async () => reachSecondStep(place()))).toEqual([]);
    expect(await recordsOf(async () => browser.submit(page, '/code', { code: app.wrong() }))).toEqual([
      ['second_factor', 'failure', 'one_time_code', 'wrong', alice],
    ]);
    expect(await recordsOf(async () => browser.submit(page, '/code', { recovery_code: 'AAAA' }))).toEqual([
      ['second_factor', 'failure', 'recovery_code', 'wrong', alice],
    ]);
    expect(await recordsOf(async () => browser.submit(page, '/passkey', { response: '{}' }))).toEqual([
      ['second_factor', 'failure', 'passkey', 'malformed', alice],
    ]);
    expect(await recordsOf(async () => browser.submit(page, '/code', { code: app.code() }))).toEqual([
      ['second_factor', 'success', 'one_time_code', undefined, alice],
      ['sign_in', 'success', undefined, undefined, alice],
    ]);
    const recovered = await reachSecondStep(place());
    const [recovery_code = ''] = codes;
    expect(
      await recordsOf(async () => recovered.browser.submit(recovered.page, '/code', { recovery_code })),
    ).toEqual([
      ['second_factor', 'success', 'recovery_code', undefined, alice],
      ['sign_in', 'success', undefined, undefined, alice],
    ]);
    const alone = await begin(place());
    const response = key.assert(place(), alone.page);
    const stranger = new SoftwareKey().assert(place(), alone.page);
    expect(
      await recordsOf(async () => alone.browser.submit(alone.page, '/passkey', { response: stranger })),
    ).toEqual([['sign_in', 'failure', 'passkey', 'unknown', undefined]]);
    expect(await recordsOf(async () => alone.browser.submit(alone.page, '/passkey', { response }))).toEqual([
      ['sign_in', 'success', 'passkey', undefined, alice],
    ]);
  });

  it('a passkey signs in where guesses have shut the password out, and ends that', async () => {
    const key = await givePasskey(place(), 'bob');
    const guess = async (password: string) => {
      const { browser, page } = await begin(place());
      return browser.submit(page, '/login', { username: 'bob', password });
    };
    let last = await guess('wrong-password-1');
    for (let turn = 0; turn < 40 && last.status === 401; turn += 1) last = await guess('wrong-password-1');
    expect(last.status).toBe(429);
    const { browser, page } = await begin(place());
    expect(isConsent(await browser.submit(page, '/passkey', { response: key.assert(place(), page) }))).toBe(
      true,
    );
    expect((await guess('wrong-password-1')).status).toBe(401);
    await setFactors(place(), 'bob');
  });

  it('two tabs of one session that is asked for more go on one after the other', async () => {
    await setFactors(place(), 'alice');
    const { browser } = await complete(place(), 'alice');
    const app = await giveOneTimeCodes(place());
    const [one, two] = [await begin(place(), {}, { browser }), await begin(place(), {}, { browser })];
    expect([isSecondStep(one.page), isSecondStep(two.page)]).toEqual([true, true]);
    expect(codeOf(await browser.submit(one.page, '/code', { code: app.code() }))).toBeDefined();
    const again = await browser.submit(two.page, '/code', { code: app.code() });
    expect([again.status, isSecondStep(again)]).toEqual([401, true]);
    expect(codeOf(await browser.submit(two.page, '/code', { code: app.code(1) }))).toBeDefined();
  });
});
