// A stranger who knows alice's password and a code of hers, or a recovery code: what they can't open, add, remove and renew with them.
import { describe, expect, it } from 'vitest';
import type { Factors } from '../../src/users/factors.ts';
import { type Browser, formOf, type Page } from '../world/browser.ts';
import { DAY, HOUR, MINUTE, moveClock, standingClock } from '../world/clock.ts';
import { useWorld } from '../world/each-store.ts';
import { begin, codeOf, finishPages, signInAs } from '../world/person.ts';
import { type Parameters } from '../world/requests.ts';
import {
  factorsOf,
  giveOneTimeCodes,
  givePasskey,
  isSecondStep,
  newAuthenticatorApp,
  newRecoveryCodes,
  setFactors,
  SoftwareKey,
} from '../world/second-factors.ts';
import { createTurns } from '../world/turns.ts';
import { GENEROUS, PEOPLE, worldClients } from '../world/world.ts';

const NAMES = { password: 'urn:example:pwd', second_factor: 'urn:example:2f', passkey: 'urn:example:phr' };
const CLIENTS = {
  post: { sign_in: { require: 'passkey' } },
  'first-party': { sign_in: { require: 'passkey', max_age: '1h' } },
  spa: { sign_in: { require: 'second_factor', max_age: '1h' } },
};
const CONFIG = {
  ...GENEROUS,
  account: true,
  features: { claims_parameter: true },
  sign_in: { passkeys: true, one_time_codes: true, recovery_codes: 10 },
  acr: NAMES,
  clients: worldClients(CLIENTS),
};
const turns = createTurns();
const OPTIONS = { issuer: 'https://id.example', config: CONFIG, rotationTimer: turns.timer };
const BANK = { client_id: 'post', scope: 'openid' };
const essential = (value: string) => JSON.stringify({ id_token: { acr: { essential: true, value } } });

type Prove = (page: Page) => readonly [action: string, fields: Parameters];
type Owner = {
  readonly code: Prove;
  readonly recovery: Prove;
  readonly by: (key: SoftwareKey) => Prove;
};

const isList = ({ text, status }: Page) => status === 200 && text.includes('class="page-factors"');

function useOwner() {
  const world = useWorld(OPTIONS);
  standingClock();
  const own = async () => (await factorsOf(world())).get(PEOPLE.alice);
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
      by: (shown) => (page) => ['/passkey', { response: shown.assert(world(), page) }],
    };
  }
  const read = async (browser: Browser, page: Page) =>
    page.text.includes('/notice"') ? browser.submit(page, '/notice') : page;
  async function step(browser: Browser, page: Page, prove: Prove): Promise<Page> {
    const [action, fields] = prove(page);
    return read(browser, await browser.submit(page, action, fields as Record<string, string>));
  }
  /** A session by the password and this. */
  async function signedIn(prove: Prove, request: Parameters = { scope: 'openid' }) {
    await pass();
    const { browser, page } = await begin(world(), request);
    const done = await step(browser, await signInAs(browser, page, 'alice'), prove);
    return { browser, page: await finishPages(browser, done, 'alice') };
  }
  const open = async (browser: Browser, request: Parameters) =>
    read(browser, (await begin(world(), { scope: 'openid', ...request }, { browser })).page);
  const factorsPage = async (browser: Browser) =>
    read(browser, await browser.open(`${world().issuer}/account/factors`));
  const add = (browser: Browser, page: Page, key: SoftwareKey) =>
    browser.submit(page, '/add', { response: key.create(world(), page), handle: handleOf(page) });
  return { world, own, owner, pass, step, read, signedIn, open, factorsPage, add };
}

const handleOf = (page: Page) =>
  formOf(page, page.text.includes('/enrol"') ? '/enrol' : '/add').fields['handle'] ?? '';
const uv = () => new SoftwareKey();
const noUv = () => new SoftwareKey({ verifiesUser: false });

describe('the page for factors', () => {
  const { world, own, owner, pass, step, signedIn, open, factorsPage } = useOwner();
  const isLogin = ({ text }: Page) => text.includes('name="password"');

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
    // Nor within a sign-in.
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
  const CONDITION = { claims: essential(NAMES.passkey), client_id: 'spa' };
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
    for (const request of [AGED, BANK, WISH, CONDITION]) {
      expect([request, isPasskeyStep(await open(browser, request))]).toEqual([request, true]);
    }
    await pass();
    const last = await step(browser, await open(browser, AGED), made.by(key));
    expect(codeOf(await finishPages(browser, last, 'alice'))).toBeDefined();
  });

  it.each([
    ['the app', AGED],
    ['a wish', WISH],
    ['a condition', CONDITION],
  ])(
    'F1-08: %s asks for the passkey alone, and takes no code from a form of another account',
    async (_what, request) => {
      const key = uv();
      const { by, code } = await owner(key);
      const bobs = await giveOneTimeCodes(world(), 'bob');
      const { browser } = await signedIn(by(key), { client_id: 'spa', scope: 'openid' });
      await pass(2 * HOUR);
      const asked = await open(browser, request);
      expect(isPasskeyStep(asked), asked.text).toBe(true);
      // Half a sign-in of another account shows a form for codes in the same interaction, and is over after five minutes.
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
      // Nor with her own password in the place of the other account's.
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
    },
  );

  it.each([{ prompt: 'login' }, { max_age: '60' }, { prompt: 'login', acr_values: NAMES.passkey }])(
    'F1-08: a sign-in anew by password and code is asked for the passkey: %o',
    async (more) => {
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
    },
  );
});
