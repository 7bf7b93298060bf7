// Guessed device codes (RFC 8628 §5.1), and the conditions that a user must still meet to approve a device.
import { decodeJwt } from 'jose';
import { afterAll, expect, it, vi } from 'vitest';
import { networkOf } from '../../../src/limits/network.ts';
import type { NewRecord } from '../../../src/store/store.ts';
import { createAccountStates } from '../../../src/users/account-state.ts';
import { type Browser, formOf, type Page } from '../../world/browser.ts';
import {
  askForCodes,
  DEVICE_CONFIG,
  isConfirmPage,
  isDonePage,
  letIn,
  poll,
  postToDevice,
  refreshAsTv,
  typeCode,
} from './device.ts';
import { MINUTE, moveClock } from '../../world/clock.ts';
import { eachStore } from '../../world/each-store.ts';
import { complete, newBrowser, signInAs, type User } from '../../world/person.ts';
import { introspect } from '../../world/presented-tokens.ts';
import { post } from '../../world/requests.ts';
import { watchSaving } from '../../world/saving.ts';
import { giveOneTimeCodes, isSecondStep, setFactors } from '../../world/second-factors.ts';
import { limitsOf } from '../../world/stored.ts';
import { API, CALLBACK, type OpenWorld, PEOPLE } from '../../world/world.ts';

const GUESSES = { trusted_proxies: ['127.0.0.1'], ...DEVICE_CONFIG };
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const CONFIG = { ...DEVICE_CONFIG, account: true, sign_in: { one_time_codes: true } };
const saving = watchSaving();

let made = 0;
/** Returns a different code each time. */
function madeUpCode(): string {
  made += 1;
  const digits = made.toString(20).padStart(8, '0');
  return digits.replaceAll(/./g, (digit) => LETTERS[Number.parseInt(digit, 20)] ?? '');
}

/** A browser in which a user enters codes, from any address. */
async function guesser(world: OpenWorld, person: User = 'alice') {
  const { browser } = await complete(world, person);
  return async (userCode: string, address: string): Promise<Page> => {
    const { fields } = formOf(await browser.open(`${world.issuer}/device`), '/device');
    return postToDevice(browser, world, `xsrf=${fields['xsrf']}&user_code=${userCode}`, {
      'x-forwarded-for': address,
    });
  };
}

/** Enters `count` made-up codes in sequence; counts each status. */
async function guessAll(guess: () => Promise<Page>, count: number): Promise<Record<string, number>> {
  const statuses: Record<string, number> = {};
  for (let tried = 0; tried < count; tried += 1) {
    const { status } = await guess();
    statuses[status] = (statuses[status] ?? 0) + 1;
  }
  return statuses;
}

eachStore('PR-11: guesses', { config: GUESSES, handStore: saving.handStore }, (world) => {
  afterAll(() => vi.useRealTimers());
  const again = () => moveClock(11 * MINUTE);

  it('of one browser are ten in ten minutes, of one user twenty, and the right code is none more', async () => {
    const { userCode } = await askForCodes(world());
    const [first, second, third] = await Promise.all([guesser(world()), guesser(world()), guesser(world())]);
    let turn = 0;
    const from = (guess: Awaited<ReturnType<typeof guesser>>) => () =>
      guess(madeUpCode(), `192.0.2.${(turn += 1)}`);
    expect(await guessAll(from(first), 30)).toEqual({ 422: 10, 429: 20 });
    expect(await guessAll(from(second), 9)).toEqual({ 422: 9 });
    expect(await guessAll(from(third), 20)).toEqual({ 422: 1, 429: 19 });
    const late = await third(userCode, '192.0.2.1');
    expect([late.status, Number(late.headers.get('retry-after')) > 0]).toEqual([429, true]);
    // No other user is limited, not even at the same address. Correct codes don't count.
    const type = await guesser(world(), 'bob');
    for (let time = 0; time < 12; time += 1)
      expect(isConfirmPage(await type(userCode, '192.0.2.1'))).toBe(true);
  });

  it('from one address are a hundred, from one network a thousand', async () => {
    again();
    const limits = await limitsOf(world());
    const takeFrom = (address: string) =>
      limits.takeInStore({ address }, [
        limits.quotaOf('device.address', address),
        limits.quotaOf('device.network', networkOf(address)),
      ]);
    for (let count = 0; count < 1000; count += 1) {
      await takeFrom(`100.64.7.${Math.floor(count / 100)}`);
    }
    const guess = await guesser(world());
    expect((await guess(madeUpCode(), '100.64.7.77')).status).toBe(429);
    expect((await guess(madeUpCode(), '100.64.8.77')).status).toBe(422);
    await Promise.all(Array.from({ length: 100 }, () => takeFrom('100.64.9.1')));
    await expect(takeFrom('100.64.9.1')).rejects.toThrow();
  });

  it('need a sign-in: before it nothing is looked up or counted, and after it the code is still there', async () => {
    again();
    const { userCode } = await askForCodes(world());
    const browser = newBrowser(world());
    const typed = async (code: string) =>
      browser.submit(await browser.open(`${world().issuer}/device`), '/device', { user_code: code });
    for (const code of [...Array.from({ length: 25 }, madeUpCode), userCode]) {
      const page = await typed(code);
      expect([page.status, page.text.includes('name="password"')]).toEqual([200, true]);
      expect(page.url).not.toContain(code);
    }
    const linked = await browser.open(`${world().issuer}/device?user_code=${userCode}`);
    expect([isConfirmPage(linked), linked.text.includes(`value="${userCode}"`)]).toEqual([false, true]);
    const confirm = await signInAs(browser, await typed(userCode), 'alice');
    expect([isConfirmPage(confirm), confirm.text.includes('as <strong><bdi>')]).toEqual([true, true]);
    // A user who cancels the sign-in is asked for the code again; the earlier code is no longer stored.
    const other = newBrowser(world());
    const login = await typeCodeOnly(other, userCode);
    const left = await other.submit(login, '/cancel');
    expect([left.url, left.text.includes(userCode)]).toEqual([`${world().issuer}/device`, false]);
  });

  const typeCodeOnly = async (browser: Browser, code: string) =>
    browser.submit(await browser.open(`${world().issuer}/device`), '/device', { user_code: code });

  it.each([
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site', 'sec-fetch-dest': 'document' },
    { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'image' },
    { 'sec-fetch-dest': 'iframe' },
    { 'sec-fetch-site': 'none', 'sec-fetch-dest': 'empty' },
  ])('of %j are none: no code is looked up, and none counts', async (headers) => {
    again();
    const { userCode } = await askForCodes(world());
    const { browser } = await complete(world(), 'alice');
    const link = (code: string) => `${world().issuer}/device?user_code=${code}`;
    for (let tried = 0; tried < 12; tried += 1) {
      const page = await browser.open(link(madeUpCode()), { headers });
      expect([page.status, page.text.includes('role="alert"')]).toEqual([200, false]);
    }
    const page = await browser.open(link(userCode), { headers });
    expect(page.text).not.toContain('name="confirm"');
    // The next click leads to the browser's owner.
    expect(isConfirmPage(await browser.submit(page, '/device', { user_code: userCode }))).toBe(true);
    const forged = await browser.submit(page, '/device', { user_code: userCode }, headers);
    expect(forged.status).toBe(403);
    expect((await browser.open(link(madeUpCode()))).status).toBe(422);
  });

  it('ask for codes as often as for a sign-in, for an address and a network, and each leaves little behind', async () => {
    again();
    const ask = (address: string, form: object = {}) =>
      post(
        world(),
        '/oauth/device_authorization',
        { client_id: 'tv', scope: 'openid', ...form },
        { 'x-forwarded-for': address },
      );
    await world().reload({ ...GUESSES, rate_limits: { ...GUESSES.rate_limits, authorization: '3/1m' } });
    const statuses = async (addresses: readonly string[]) => {
      const all = [];
      for (const address of addresses) all.push((await ask(address)).status);
      return all;
    };
    expect(await statuses(Array.from({ length: 5 }, () => '198.51.100.1'))).toEqual([
      200, 200, 200, 429, 429,
    ]);
    const others = Array.from({ length: 30 }, (_one, index) => `198.51.100.${2 + Math.floor(index / 3)}`);
    expect((await statuses(others)).filter((status) => status === 200)).toHaveLength(27);
    expect(await statuses(['198.51.101.1'])).toEqual([200]);
    await world().reload(GUESSES);

    const written: NewRecord[] = [];
    saving.set((records) => written.push(...records));
    const wishes = {
      login_hint: 'x'.repeat(900),
      ui_locales: 'y'.repeat(900),
      acr_values: 'z'.repeat(900),
      nonce: 'n'.repeat(600),
      max_age: '60',
    };
    expect((await ask('198.51.102.1', wishes)).status).toBe(200);
    saving.set(undefined);
    const [kept = ''] = written.filter(({ kind }) => kind === 'DeviceCode').map(({ payload }) => payload);
    expect(kept.length).toBeLessThan(400);
    expect(JSON.parse(kept)).toMatchObject({ params: { client_id: 'tv', scope: 'openid', max_age: '60' } });
  });
});

eachStore('who lets a device in', { config: CONFIG }, (world) => {
  it('has to prove what the app asks for, like everybody who signs in', async () => {
    const app = await giveOneTimeCodes(world());
    const asked = await askForCodes(world());
    const browser = newBrowser(world());
    const step = await typeCode(browser, world(), asked.userCode);
    expect(isSecondStep(step)).toBe(true);
    const confirm = await browser.submit(step, '/code', { code: app.code() });
    expect((await poll(world(), asked)).body['error']).toBe('authorization_pending');
    const consent = await browser.submit(confirm, '/device', { confirm: 'yes' });
    expect(isDonePage(await browser.submit(consent, '/consent'))).toBe(true);
    const { body } = await poll(world(), asked);
    expect(decodeJwt(String(body['id_token']))['amr']).toEqual(['pwd', 'otp', 'mfa']);
    await setFactors(world(), 'alice', {});
  });

  it('lets nothing in once they are disabled, and takes back what they let in', async () => {
    const states = createAccountStates(world().openedStore.documents);
    const [before, after] = [await askForCodes(world()), await askForCodes(world())];
    for (const asked of [before, after]) {
      expect(isDonePage(await letIn(world(), asked, { person: 'bob' }))).toBe(true);
    }
    const { body } = await poll(world(), before);
    await states.update(PEOPLE.bob, { disabled: true });
    expect((await poll(world(), after)).body['error']).toBe('invalid_grant');
    expect((await introspect(world(), String(body['access_token'])))['active']).toBe(false);
    expect((await refreshAsTv(world(), { body })).body['error']).toBe('invalid_grant');
    await states.update(PEOPLE.bob, { disabled: false });
  });

  it('CF-05: gives a device only what its client and its user may still have at the poll', async () => {
    const [narrowed, ofApi, denied, gone] = await Promise.all([
      askForCodes(world(), { scope: 'openid profile offline_access reports.read' }),
      askForCodes(world(), { scope: 'openid reports.read', resource: API }),
      askForCodes(world()),
      askForCodes(world()),
    ]);
    const pending = await askForCodes(world());
    for (const asked of [narrowed, ofApi, denied, gone]) {
      expect(isDonePage(await letIn(world(), asked))).toBe(true);
    }
    const withTv = (changes: object) => ({
      ...CONFIG,
      groups: { staff: 'Staff' },
      clients: CONFIG.clients.map((one) => (one.client_id === 'tv' ? { ...one, ...changes } : one)),
    });
    const scope = 'openid offline_access';

    const foreign = await poll(world(), narrowed, 'tv', { resource: API });
    expect(foreign.body['error']).toBe('invalid_target');
    await world().reload(withTv({ scope }));
    const { body } = await poll(world(), narrowed);
    expect(body['scope']).toBe(scope);
    expect(decodeJwt(String(body['access_token']))).toMatchObject({ aud: world().issuer, scope });
    expect((await refreshAsTv(world(), { body })).body['scope']).toBe(scope);
    expect((await poll(world(), ofApi)).body['error']).toBe('invalid_target');
    expect(isDonePage(await letIn(world(), pending))).toBe(false);
    expect((await poll(world(), pending)).body['error']).toBe('invalid_scope');

    await world().reload(withTv({ access: { groups: ['staff'] } }));
    expect((await poll(world(), denied)).body['error']).toBe('invalid_grant');
    const grants = { grant_types: ['authorization_code'], redirect_uris: [CALLBACK], scope: 'openid' };
    await world().reload(withTv(grants));
    expect((await poll(world(), gone)).body['error']).toBe('unauthorized_client');
    const begun = await post(world(), '/oauth/device_authorization', { client_id: 'tv', scope: 'openid' });
    expect([begun.status, begun.body['error']]).toEqual([400, 'unauthorized_client']);
    await world().reload(CONFIG);
  });
});
