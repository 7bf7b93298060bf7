// An attacker with alice's password and a code of hers, or a recovery code: what they can't open, add, remove or renew.
import { decodeJwt } from 'jose';
import { describe, expect, it } from 'vitest';
import type { Factors } from '../../../src/users/factors.ts';
import { oneTimeLinkUrl } from '../../../src/users/one-time-links.ts';
import { removeFactor } from '../../../src/features/second-factors/factor-acts.ts';
import { type Browser, fieldOf, formOf, type Page } from '../../world/browser.ts';
import { DAY, HOUR, MINUTE, moveClock, standingClock } from '../../world/clock.ts';
import { useWorld } from '../../world/each-store.ts';
import { begin, codeOf, finishPages, isLogin, newBrowser, signInAs, silently } from '../../world/person.ts';
import { formPost, type Parameters } from '../../world/requests.ts';
import {
  codeFor,
  factorsOf,
  giveOneTimeCodes,
  givePasskey,
  isSecondStep,
  newAuthenticatorApp,
  newRecoveryCodes,
  ownFactors,
  setFactors,
  SoftwareKey,
  withAddForms,
} from '../../world/second-factors.ts';
import { redeem, refresh } from '../../world/token-endpoint.ts';
import { createTurns } from '../../world/turns.ts';
import { GENEROUS, PEOPLE, worldClients } from '../../world/world.ts';
import { newLink } from '../../world/one-time-link.ts';
import { isList, NAMES } from './factors.ts';

const CLIENTS = {
  post: { sign_in: { require: 'passkey' } },
  'first-party': { sign_in: { require: 'passkey', max_age: '1h' } },
  spa: { sign_in: { require: 'second_factor', max_age: '1h' } },
};
const CONFIG = {
  ...GENEROUS,
  account: true,
  sign_in: { passkeys: true, one_time_codes: true, recovery_codes: 10 },
  clients: worldClients(CLIENTS),
};
const turns = createTurns();
const OPTIONS = { issuer: 'https://id.example', config: CONFIG, rotationTimer: turns.timer };
const BANK = { client_id: 'post', scope: 'openid' };

/** A key sends the handle of the form that added it; where the user is already known, it may send none. */
const NAMES_NOBODY = { userHandle: undefined };

type Prove = (page: Page) => readonly [action: string, fields: Parameters];
type Owner = {
  readonly code: Prove;
  readonly recovery: Prove;
  readonly by: (key: SoftwareKey) => Prove;
};

const isPasskeyNeeded = ({ text }: Page) => text.includes('<h1>Use your passkey</h1>');

function useOwner() {
  const world = useWorld(OPTIONS);
  standingClock();
  const own = () => ownFactors(world());
  const pass = async (seconds = 2 * MINUTE) => {
    moveClock(seconds);
    await turns.turn();
  };
  /** Alice has an authenticator app, recovery codes and perhaps a passkey. */
  async function owner(key?: SoftwareKey): Promise<Owner> {
    await pass(DAY);
    await world().reload(CONFIG);
    const { codes, recoveryCodes } = await newRecoveryCodes(world(), 'alice', 9);
    const app = newAuthenticatorApp('alice');
    const more: Partial<Factors> = { oneTimeCode: app.factor, recoveryCodes };
    if (key === undefined) await setFactors(world(), 'alice', more);
    else await givePasskey(world(), 'alice', { key, ...more });
    let used = 0;
    return {
      code: () => ['/code', { code: app.code() }],
      recovery: () => ['/code', { recovery_code: codes[used++] ?? '' }],
      by: (shown) => (page) => ['/passkey', { response: shown.assert(world(), page, NAMES_NOBODY) }],
    };
  }
  const read = async (browser: Browser, page: Page) =>
    page.text.includes('/notice"') ? browser.submit(page, '/notice') : page;
  async function step(browser: Browser, page: Page, prove: Prove): Promise<Page> {
    const [action, fields] = prove(page);
    return read(browser, await browser.submit(page, action, fields as Record<string, string>));
  }
  /** Signs in with the password and this proof. */
  async function signedIn(prove: Prove, request: Parameters = { scope: 'openid' }) {
    await pass();
    const { browser, page } = await begin(world(), request);
    const done = await step(browser, await signInAs(browser, page, 'alice'), prove);
    return { browser, page: await finishPages(browser, done, 'alice') };
  }
  const open = async (browser: Browser, request: Parameters) =>
    read(browser, (await begin(world(), { scope: 'openid', ...request }, { browser })).page);
  const factorsPage = async (browser: Browser) =>
    withAddForms(browser, await read(browser, await browser.open(`${world().issuer}/account/factors`)));
  const add = (browser: Browser, page: Page, key: SoftwareKey) =>
    browser.submit(page, '/add', { response: key.create(world(), page), handle: handleOf(page) });
  return { world, own, owner, pass, step, read, signedIn, open, factorsPage, add };
}

const handleOf = (page: Page) =>
  formOf(page, page.text.includes('/enrol"') ? '/enrol' : '/add').fields['handle'] ?? '';
const uv = () => new SoftwareKey();
const noUv = () => new SoftwareKey({ verifiesUser: false });

describe('whoever has a passkey', () => {
  const { world, own, owner, read, signedIn, open, factorsPage, add } = useOwner();

  it.each([
    ['a passkey', uv],
    ['a security key', noUv],
  ])('F1-09: changes no factor by a code: %s', async (_what, make) => {
    const key = make();
    const { code, by } = await owner();
    const { browser } = await signedIn(code);
    const before = await factorsPage(browser);
    expect(isList(before)).toBe(true);
    // These were added elsewhere in the meantime.
    const { oneTimeCode, recoveryCodes } = await own();
    await givePasskey(world(), 'alice', { key, oneTimeCode, recoveryCodes });
    const stored = await own();
    const response = uv().create(world(), before);
    for (const [action, fields] of [
      ['/add', { response, handle: handleOf(before) }],
      ['/add', { code: codeFor(before), replace: 'yes' }],
      ['/remove', { id: key.id }],
      ['/remove', { id: 'one-time-codes' }],
      ['/recovery-codes', {}],
    ] as const) {
      const form = formOf(before, action === '/remove' ? '/remove' : action);
      const answer = await browser.post(form.action, { ...form.fields, ...fields });
      expect([action, answer.status, isPasskeyNeeded(answer)]).toEqual([action, 403, true]);
    }
    expect(await own()).toEqual(stored);
    const page = await factorsPage(browser);
    expect([page.status, isPasskeyNeeded(page)]).toEqual([403, true]);

    const proved = await signedIn(by(key));
    const list = await factorsPage(proved.browser);
    expect(isList(await add(proved.browser, list, uv())), list.text).toBe(true);
  });

  it('F1-09: adds no passkey at an app that requires one by a code, beside a security key', async () => {
    const key = noUv();
    const { code, by } = await owner(key);
    const attacker = await signedIn(code);
    expect((await open(attacker.browser, BANK)).text).toContain('name="password"');
    const { browser, page } = await signedIn(by(key), BANK);
    const response = uv().create(world(), page);
    const done = await read(
      browser,
      await browser.submit(page, '/enrol', { response, handle: handleOf(page) }),
    );
    expect(codeOf(await finishPages(browser, done, 'alice')), done.text).toBeDefined();
  });
});

describe('a recovery', () => {
  const { world, own, owner, pass, step, read, signedIn, open, factorsPage, add } = useOwner();

  /** Signs in with the passkey alone, with the user handle that the page requested. */
  const asAlone = async (key: SoftwareKey, page: Page) =>
    key.assert(world(), page, { userHandle: (await own()).handle ?? '' });

  /** Expects no access, in an old session or a new one. */
  async function expectShut(browser: Browser, key: SoftwareKey): Promise<void> {
    const bank = await open(browser, BANK);
    expect(codeOf(bank)).toBeUndefined();
    if (isSecondStep(bank)) {
      const response = key.assert(world(), bank, NAMES_NOBODY);
      const refused = await browser.submit(bank, '/passkey', { response });
      expect(refused.status).toBe(401);
    }
    const alone = await begin(world(), BANK);
    const response = await asAlone(key, alone.page);
    const next = await read(alone.browser, await alone.browser.submit(alone.page, '/passkey', { response }));
    expect(codeOf(await finishPages(alone.browser, next, 'alice')), next.url).toBeUndefined();
    expect(await silently(world(), alone.browser, BANK)).toBe('interaction_required');
  }

  it('F1-09: a passkey that it adds opens nothing that requires one for 24 hours', async () => {
    const [mine, theirs] = [uv(), uv()];
    const { recovery } = await owner(mine);
    const { browser } = await signedIn(recovery);
    const list = await add(browser, await factorsPage(browser), theirs);
    expect(isList(list), list.text).toBe(true);
    expect((await own()).passkeys.map(({ recovered }) => recovered)).toEqual([undefined, true]);
    // The owner's factor still gives access, so it can't be removed in the meantime.
    const kept = await browser.submit(list, '/remove', { id: mine.id });
    expect([kept.status, (await own()).passkeys.length]).toEqual([422, 2]);
    await expectShut(browser, theirs);

    const request = { scope: 'openid offline_access', prompt: 'consent' };
    const early = await begin(world(), request);
    const response = await asAlone(theirs, early.page);
    const consent = await early.browser.submit(early.page, '/passkey', { response });
    const { body } = await redeem(world(), {
      code: codeOf(await finishPages(early.browser, await read(early.browser, consent), 'alice')),
    });
    const { acr, amr } = decodeJwt(String(body['id_token']));
    expect([acr, amr]).toEqual([NAMES.second_factor, ['mfa']]);
    await pass(23 * HOUR);
    await expectShut(browser, theirs);
    await pass(2 * HOUR);
    // Results of an earlier sign-in don't change.
    expect(await silently(world(), early.browser, BANK)).toBe('interaction_required');
    await world().reload({
      ...CONFIG,
      clients: worldClients({ ...CLIENTS, web: { sign_in: { require: 'passkey' } } }),
    });
    expect((await refresh(world(), String(body['refresh_token']))).body['error']).toBe('invalid_grant');
    const late = await begin(world(), BANK);
    const shown = { response: await asAlone(theirs, late.page) };
    const opened = await late.browser.submit(late.page, '/passkey', shown);
    expect(codeOf(await finishPages(late.browser, await read(late.browser, opened), 'alice'))).toBeDefined();
  });

  it('F1-12: its session takes no notice of what it adds from the owner', async () => {
    const { recovery } = await owner(uv());
    const { browser } = await signedIn(recovery);
    await pass();
    expect(isList(await add(browser, await factorsPage(browser), uv()))).toBe(true);
    const next = await begin(world(), {}, { browser });
    expect(next.page.text).not.toContain('/notice"');
    expect((await own()).notices.find(({ what }) => what === 'factor_added')?.readBy).toBeUndefined();
  });

  it('F1-09: adds no passkey within a sign-in at an app that requires one', async () => {
    const { code, recovery } = await owner();
    const honest = await signedIn(code, BANK);
    expect(honest.page.text).toContain('/enrol"');
    const { action, fields } = formOf(honest.page, '/enrol');
    const { browser, page } = await signedIn(recovery, BANK);
    expect([page.status, page.text.includes('/enrol"')]).toEqual([403, false]);
    const uid = new URL(page.url).pathname.split('/')[2] ?? '';
    const form = { ...fields, response: uv().create(world(), honest.page) };
    const forged = action.replace(/interaction\/[^/]*/, `interaction/${uid}`);
    const answer = await browser.post(forged, form);
    expect([answer.status, (await own()).passkeys]).toEqual([403, []]);
  });

  it('F1-09: nor does one of a link count that came after the factors were removed; that of a new person does', async () => {
    const follow = async (key: SoftwareKey) => {
      const browser = newBrowser(world());
      const page = await browser.open(
        oneTimeLinkUrl(world().issuer, await newLink(world(), 'factors', PEOPLE.alice)),
      );
      const { action, fields } = formOf(page, '');
      const response = key.create(world(), page);
      const handle = fieldOf(page, 'handle');
      const done = await browser.open(action, formPost({ ...fields, response, handle }));
      expect([done.status, (await own()).passkeys.length], done.text).toEqual([200, 1]);
    };
    const { by } = await owner();
    await setFactors(world(), 'alice');
    const first = uv();
    await follow(first);
    expect(codeOf((await signedIn(by(first), BANK)).page)).toBeDefined();
    const removal = { accountId: PEOPLE.alice, factorId: first.id, at: Math.floor(Date.now() / 1000) };
    await removeFactor(await factorsOf(world()), undefined, removal);
    const second = uv();
    await follow(second);
    const { browser, page } = await signedIn(by(second), BANK);
    expect(page.status, page.text).toBe(403);
    await expectShut(browser, second);
    await pass(25 * HOUR);
    expect(codeOf((await signedIn(by(second), BANK)).page)).toBeDefined();
  });

  it('F1-10: lasts until a sign-in with an older factor: a replaced app makes no new recovery codes', async () => {
    const key = uv();
    const { recovery, by } = await owner(key);
    const stored = await own();
    const { browser } = await signedIn(recovery);
    const list = await factorsPage(browser);
    const typed = {
      code: codeFor(list),
      sealed: /name="sealed" value="([^"]*)"/.exec(list.text)?.[1] ?? '',
    };
    const unconfirmed = await browser.submit(list, '/add', typed);
    expect([unconfirmed.status, unconfirmed.text.includes('name="replace"')]).toEqual([422, true]);
    expect((await own()).oneTimeCode).toEqual(stored.oneTimeCode);
    const replaced = await browser.submit(unconfirmed, '/add', { ...typed, replace: 'yes' });
    expect(isList(replaced), replaced.text).toBe(true);
    expect((await own()).oneTimeCode?.sealed).not.toBe(stored.oneTimeCode?.sealed);
    const what = { action: 'replaced', method: 'one_time_code' };
    expect(world().recorded.audit('factor_changed').at(-1)).toMatchObject(what);
    expect((await own()).notices.at(-1)).toMatchObject({ what: 'authenticator_replaced' });
    const account = await browser.open(`${world().issuer}/account`);
    expect(account.text).toContain('Your authenticator app was replaced.');

    const { recoveryCodes } = await own();
    expect((await browser.submit(replaced, '/recovery-codes')).status).toBe(422);
    await pass();
    const again = await signedIn(() => ['/code', { code: codeFor(unconfirmed) }]);
    const next = await factorsPage(again.browser);
    expect((await again.browser.submit(next, '/recovery-codes')).status).toBe(422);
    expect((await own()).recoveryCodes).toEqual(recoveryCodes);
    const theirs = uv();
    expect(isList(await add(again.browser, next, theirs))).toBe(true);
    await expectShut(again.browser, theirs);

    // Also in the session that used a recovery code.
    const bank = await open(browser, BANK);
    expect(codeOf(await finishPages(browser, await step(browser, bank, by(key)), 'alice'))).toBeDefined();
    const made = await browser.submit(await factorsPage(browser), '/recovery-codes');
    expect([made.status, (await own()).recoveryCodes.length], made.text).toEqual([200, 10]);
  });
});

describe('the page for factors', () => {
  const { world, own, owner, pass, step, signedIn, open, factorsPage } = useOwner();

  it('F1-11: asks for both factors of the last five minutes; a passkey that verified its user is both', async () => {
    const { code } = await owner();
    const { browser } = await signedIn(code);
    const list = await factorsPage(browser);
    expect(isList(list)).toBe(true);
    await pass(2 * HOUR);
    const asked = await open(browser, { client_id: 'spa' });
    expect(isSecondStep(asked)).toBe(true);
    expect(codeOf(await finishPages(browser, await step(browser, asked, code), 'alice'))).toBeDefined();
    expect(isLogin(await factorsPage(browser))).toBe(true);
    const late = await browser.submit(list, '/recovery-codes');
    expect([late.status, (await own()).recoveryCodes.length]).toEqual([403, 9]);
    // Not within a sign-in either.
    expect(isLogin(await open(browser, BANK))).toBe(true);

    const key = uv();
    const { by } = await owner(key);
    const other = await signedIn(by(key));
    await pass(2 * HOUR);
    const again = await open(other.browser, { client_id: 'spa' });
    await step(other.browser, again, by(key));
    expect(isList(await factorsPage(other.browser))).toBe(true);
    await pass(2 * HOUR);
    await signInAs(other.browser, await factorsPage(other.browser), 'alice');
    expect(isList(await factorsPage(other.browser))).toBe(false);
    expect(await world().openedStore.documents.get('factors', PEOPLE.alice)).toBeDefined();
  });
});

describe('require: passkey with max_age', () => {
  const { world, owner, pass, step, read, signedIn, open } = useOwner();
  const AGED = { client_id: 'first-party', scope: 'openid' };
  const WISH = { acr_values: NAMES.passkey, client_id: 'spa' };
  const isPasskeyStep = (page: Page) => isSecondStep(page) && !page.text.includes('name="code"');

  it.each([
    ['a code', 'code'],
    ['a recovery code', 'recovery'],
    ['a security key', 'weak'],
  ] as const)('F1-08: an old passkey is renewed by no other app that takes %s', async (_what, way) => {
    const [key, weak] = [uv(), noUv()];
    const made = await owner(key);
    const store = await factorsOf(world());
    await store.change(PEOPLE.alice, ({ passkeys }) => ({ passkeys: [...passkeys, weak.factor] }));
    const { browser, page } = await signedIn(made.by(key), AGED);
    expect(codeOf(page)).toBeDefined();
    await pass(2 * HOUR);
    const asked = await open(browser, { client_id: 'spa' });
    const prove = way === 'weak' ? made.by(weak) : made[way];
    const done = await finishPages(browser, await step(browser, asked, prove), 'alice');
    expect(codeOf(done), done.text).toBeDefined();
    for (const request of [AGED, BANK, WISH]) {
      expect([request, isPasskeyStep(await open(browser, request))]).toEqual([request, true]);
    }
    await pass();
    const last = await step(browser, await open(browser, AGED), made.by(key));
    expect(codeOf(await finishPages(browser, last, 'alice'))).toBeDefined();
  });

  it.each([
    ['the app', AGED],
    ['a wish', WISH],
  ])('F1-08: %s asks for the passkey, and takes no code of another user', async (_what, request) => {
    const key = uv();
    const { by, code } = await owner(key);
    const bobs = await giveOneTimeCodes(world(), 'bob');
    const { browser } = await signedIn(by(key), { client_id: 'spa', scope: 'openid' });
    await pass(2 * HOUR);
    const asked = await open(browser, request);
    expect(isPasskeyStep(asked), asked.text).toBe(true);
    // A pending sign-in of another account shows a code form in the same interaction, and expires after five minutes.
    const login = await browser.open(`${asked.url}?account=other`);
    const half = await signInAs(browser, login, 'bob', '/switch');
    expect(half.text).toContain('name="code"');
    await pass(6 * MINUTE);
    for (const prove of [code, () => ['/code', { code: bobs.code() }] as const]) {
      const refused = await step(browser, half, prove);
      expect([refused.status, isPasskeyStep(refused)]).toEqual([401, true]);
    }
    const audit = world().recorded.audit('second_factor').at(-1);
    expect(audit).toMatchObject({ outcome: 'failure', reason: 'passkey_required' });
    expect(isPasskeyStep(await open(browser, request))).toBe(true);
    // Not with her own password instead of the other account's either.
    const again = await signInAs(
      browser,
      await browser.open(`${asked.url}?account=other`),
      'alice',
      '/switch',
    );
    const proved = await read(browser, await step(browser, again, code));
    expect(isPasskeyStep(proved), proved.text).toBe(true);
    const last = await step(browser, proved, by(key));
    expect(codeOf(await finishPages(browser, last, 'alice'))).toBeDefined();
  });

  const ANEW = [{ prompt: 'login' }, { max_age: '60' }, { prompt: 'login', acr_values: NAMES.passkey }];
  it.each(ANEW)('F1-08: a new sign-in by password and code needs the passkey: %o', async (more) => {
    const key = uv();
    const { by, code } = await owner(key);
    const { browser } = await signedIn(by(key), AGED);
    await pass(2 * HOUR);
    const half = await signInAs(browser, await open(browser, { ...AGED, ...more }), 'alice');
    const asked = await step(browser, half, code);
    expect(isPasskeyStep(asked), asked.text).toBe(true);
    const last = await step(browser, asked, by(key));
    const done = await finishPages(browser, last, 'alice');
    expect(codeOf(done), done.text).toBeDefined();
  });
});
