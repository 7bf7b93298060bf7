// The user's page for factors, over HTTP: who may add and remove what, and the effect on the user's sessions, tokens and links.
import { describe, expect, it } from 'vitest';
import { type Browser, fieldOf, type Page } from '../../world/browser.ts';
import { standingClock } from '../../world/clock.ts';
import { anyStore, useWorld } from '../../world/each-store.ts';
import {
  begin,
  enterPassword,
  finishPages,
  isLogin,
  newBrowser,
  signInAs,
  silently,
} from '../../world/person.ts';
import {
  codeFor,
  giveOneTimeCodes,
  givePasskey,
  isSecondStep,
  newRecoveryCodes,
  ownFactors,
  setFactors,
  SoftwareKey,
  withAddForms,
} from '../../world/second-factors.ts';
import { NEVER } from '../../world/turns.ts';
import { GENEROUS, type OpenWorld, PEOPLE, worldClients } from '../../world/world.ts';
import { isList } from './factors.ts';

const OPTIONS = {
  issuer: 'https://id.example',
  rotationTimer: NEVER,
  config: {
    ...GENEROUS,
    sign_in: { passkeys: true, one_time_codes: true, recovery_codes: 10, enrolment: 'self' },
    clients: worldClients({ web2: { sign_in: { require: 'second_factor' } } }),
  },
};

standingClock();

const codesIn = ({ text }: Page) => [...text.matchAll(/<code>([^<]+)<\/code>/g)].map(([, code = '']) => code);

/** Signs in, and opens the page. */
async function openFactors(world: OpenWorld, browser = newBrowser(world), step: object = {}): Promise<Page> {
  const page = await browser.open(`${world.issuer}/account/factors`);
  if (!isLogin(page)) return withAddForms(browser, page);
  const next = await signInAs(browser, page, 'alice');
  const shown = isSecondStep(next) ? browser.submit(next, '/code', step as Record<string, string>) : next;
  return withAddForms(browser, await shown);
}

const addCode = (browser: Browser, page: Page, code = codeFor(page)) =>
  browser.submit(page, '/add', { code, sealed: fieldOf(page, 'sealed') });

anyStore('the page for factors', OPTIONS, (world) => {
  it('asks for a sign-in first, and lists what the user has', async () => {
    await setFactors(world(), 'alice');
    const page = await openFactors(world());
    expect([isList(page), page.url]).toEqual([true, 'https://id.example/account/factors']);
    expect(page.headers.get('cache-control')).toBe('no-store');
    expect(page.text).toContain('Only a password protects your account.');
  });

  it('adds an authenticator app, whose code of that moment is used up, and goes on at once', async () => {
    await setFactors(world(), 'alice');
    const browser = newBrowser(world());
    const page = await openFactors(world(), browser);
    const refused = await addCode(browser, page, '000000');
    expect([refused.status, (await ownFactors(world())).oneTimeCode]).toEqual([422, undefined]);
    const code = codeFor(refused);
    const added = await addCode(browser, refused);
    expect(isList(added), added.text).toBe(true);
    // Recovery codes are the last step of the first factor.
    expect(codesIn(added)).toHaveLength(10);
    expect((await browser.open(`${world().issuer}/account/factors`)).text).toContain('Authenticator app');
    // MF-18: the code that confirmed it can't sign in.
    const other = await begin(world());
    const step = await signInAs(other.browser, other.page, 'alice');
    expect((await other.browser.submit(step, '/code', { code })).status).toBe(401);
  });

  it('MF-14: adds a passkey, and none that the page was altered for', async () => {
    await setFactors(world(), 'alice');
    const bobs = await givePasskey(world(), 'bob');
    const browser = newBrowser(world());
    const page = await openFactors(world(), browser);
    const toRs1 = (key: Buffer) =>
      Buffer.from(key.toString('hex').replace('a5010203262001', 'a501020339fffe2001'), 'hex');
    for (const [what, changes] of Object.entries({
      algorithm: { toCose: toRs1 },
      'other host': { rpId: 'evil.example' },
      'other origin': { origin: 'https://evil.example' },
      'other port': { origin: 'https://id.example:8443' },
      http: { origin: 'http://id.example' },
      kind: { type: 'webauthn.get' },
      frame: { clientData: { crossOrigin: true } },
      'frame of another site': { clientData: { topOrigin: 'https://evil.example' } },
      challenge: { challenge: Buffer.from('made up').toString('base64url') },
      'forged attestation': { format: 'packed' },
      'somebody else’s': { id: bobs.id },
    })) {
      const response = new SoftwareKey().create(world(), page, changes);
      const refused = await browser.submit(page, '/add', { response, handle: fieldOf(page, 'handle') });
      expect([what, refused.status]).toEqual([what, 422]);
    }
    const handle = new SoftwareKey().handle;
    const key = new SoftwareKey();
    expect(
      (await browser.submit(page, '/add', { response: key.create(world(), page), handle })).status,
      'another handle than asked for',
    ).toBe(422);
    expect((await ownFactors(world())).passkeys).toEqual([]);

    const response = key.create(world(), page);
    const added = await browser.submit(page, '/add', { response, handle: fieldOf(page, 'handle') });
    expect(isList(added), added.text).toBe(true);
    const { passkeys, handle: stored } = await ownFactors(world());
    expect(passkeys.map(({ id }) => id)).toEqual([key.id]);
    // MF-11: the authenticator stores no data about the user.
    expect([stored, stored?.includes(PEOPLE.alice)]).toEqual([fieldOf(page, 'handle'), false]);
  });

  it('MF-16: removes a factor, which ends the other sessions, and not the last one that an app needs', async () => {
    const app = await giveOneTimeCodes(world());
    const browser = newBrowser(world());
    const page = await openFactors(world(), browser, { code: app.code() });
    const needed = await browser.submit(page, '/remove', { id: 'one-time-codes' });
    expect([needed.status, needed.text.includes('You need at least one second step')]).toEqual([422, true]);
    expect((await ownFactors(world())).oneTimeCode).toBeDefined();

    const key = new SoftwareKey();
    const form = { response: key.create(world(), page), handle: fieldOf(page, 'handle') };
    const added = await browser.submit(page, '/add', form);
    const elsewhere = newBrowser(world());
    const other = await begin(world(), {}, { browser: elsewhere });
    const step = await signInAs(elsewhere, other.page, 'alice');
    await finishPages(
      elsewhere,
      await elsewhere.submit(step, '/passkey', { response: key.assert(world(), step) }),
      'alice',
    );
    const removed = await browser.submit(added, '/remove', { id: 'one-time-codes' });
    expect(isList(removed), removed.text).toBe(true);
    expect(await silently(world(), elsewhere)).toBe('login_required');
    const { oneTimeCode, notices } = await ownFactors(world());
    expect([oneTimeCode, notices.map(({ what }) => what)]).toEqual([
      undefined,
      expect.arrayContaining(['factor_removed']),
    ]);
    const records = world().recorded.audit('factor_changed');
    expect(records.map(({ action, method }) => `${String(action)} ${String(method)}`)).toEqual(
      expect.arrayContaining(['added passkey', 'removed one_time_code']),
    );
  });

  it('MF-24: makes recovery codes that are shown once, of which the old ones are dead', async () => {
    const app = await giveOneTimeCodes(world());
    const browser = newBrowser(world());
    const page = await openFactors(world(), browser, { code: app.code() });
    const shown = await browser.submit(page, '/recovery-codes');
    const codes = codesIn(shown);
    expect(codes).toHaveLength(10);
    expect(codes.every((code) => /^([0-9A-HJKMNP-TV-Z]{4}-){5}[0-9A-HJKMNP-TV-Z]{4}$/.test(code))).toBe(true);
    const list = await browser.open(`${world().issuer}/factors`);
    expect(codesIn(list).filter((code) => codes.includes(code))).toEqual([]);
    const next = codesIn(await browser.submit(list, '/recovery-codes'));
    const { recoveryCodes } = await ownFactors(world());
    expect(recoveryCodes).toHaveLength(10);
    for (const code of [...codes, ...next]) expect(JSON.stringify(recoveryCodes)).not.toContain(code);

    for (const [code = '', status] of [
      [codes[0], 401],
      [next[0], 200],
    ] as const) {
      const other = await enterPassword(world());
      expect((await other.browser.submit(other.page, '/code', { recovery_code: code })).status).toBe(status);
    }
  });

  it('who signed in with a recovery code adds one and removes the lost one, and makes no codes', async () => {
    const { codes, recoveryCodes } = await newRecoveryCodes(world());
    await giveOneTimeCodes(world(), 'alice', { recoveryCodes });
    const browser = newBrowser(world());
    const page = await openFactors(world(), browser, { recovery_code: codes[0] });
    const notice = page.text.includes('/notice"')
      ? await withAddForms(browser, await browser.submit(page, '/notice'))
      : page;
    expect(isList(notice), notice.text).toBe(true);
    expect((await browser.submit(notice, '/recovery-codes')).status).toBe(422);
    const key = new SoftwareKey();
    const form = { response: key.create(world(), notice), handle: fieldOf(notice, 'handle') };
    const added = await browser.submit(notice, '/add', form);
    expect(isList(await browser.submit(added, '/remove', { id: 'one-time-codes' }))).toBe(true);
    expect((await ownFactors(world())).oneTimeCode).toBeUndefined();
  });
});

describe('the page for factors', () => {
  const world = useWorld(OPTIONS);

  it('shows a picture for an app only where one is added or replaced', async () => {
    const app = await giveOneTimeCodes(world());
    const browser = newBrowser(world());
    const step = await signInAs(browser, await browser.open(`${world().issuer}/account/factors`), 'alice');
    const list = await browser.submit(step, '/code', { code: app.code() });
    expect([isList(list), list.text.includes('class="qr"')]).toEqual([true, false]);
    const url = `${world().issuer}/account/factors?add=one_time_code`;
    expect(list.text).toContain(`href="${url}"`);
    const replacing = await browser.open(url);
    expect(replacing.text).toContain('Replace your authenticator app');
    for (const part of ['class="qr"', 'name="replace"', 'href="otpauth://totp/'])
      expect(replacing.text).toContain(part);
    expect(replacing.text).toContain(`class="back" href="${world().issuer}/account/factors"`);
    const adding = await browser.open(`${world().issuer}/account/factors?add=passkey`);
    expect([adding.text.includes('data-passkey="create"'), adding.text.includes('class="qr"')]).toEqual([
      true,
      false,
    ]);
    for (const other of ['nothing', 'one_time_code&add=passkey', '__proto__'])
      expect((await browser.open(`${world().issuer}/account/factors?add=${other}`)).text).toContain(
        '/remove"',
      );
  });

  it('leads back to what was asked for after the sign-in', async () => {
    await setFactors(world(), 'alice');
    const browser = newBrowser(world());
    const url = `${world().issuer}/account/factors?add=one_time_code`;
    const page = await signInAs(browser, await browser.open(url), 'alice');
    expect([page.url, page.text.includes('class="qr"')]).toEqual([url, true]);
    const callback = await browser.open(`${world().issuer}/account/factors/callback?state=//evil.example`);
    expect(callback.url).toBe(`${world().issuer}/account/factors`);
  });
});

describe('where the file says nothing of second factors', () => {
  const world = useWorld();

  it('there is no such page', async () => {
    expect((await newBrowser(world()).open(`${world().issuer}/account/factors`)).status).toBe(404);
  });
});
