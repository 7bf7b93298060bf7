// A user without the factor that an app needs adds it within the sign-in, if the file or another factor of theirs allows it.
import { describe, expect, it } from 'vitest';
import { type Browser, fieldOf, type Page } from '../../world/browser.ts';
import { MINUTE, moveClock, standingClock } from '../../world/clock.ts';
import { useWorld } from '../../world/each-store.ts';
import {
  begin,
  complete,
  enterPassword,
  isConsent,
  isLogin,
  newBrowser,
  signInAs,
  silently,
} from '../../world/person.ts';
import {
  codeFor,
  giveOneTimeCodes,
  isSecondStep,
  ownFactors,
  setFactors,
  SoftwareKey,
} from '../../world/second-factors.ts';
import { NEVER } from '../../world/turns.ts';
import { GENEROUS, type OpenWorld, PEOPLE, worldClients } from '../../world/world.ts';

const configOf = (enrolment: 'link' | 'self') => ({
  ...GENEROUS,
  sign_in: { passkeys: true, one_time_codes: true, recovery_codes: 10, enrolment },
  clients: worldClients({
    web2: { sign_in: { require: 'passkey' } },
    spa: { sign_in: { require: 'second_factor' } },
  }),
});
const optionsOf = (enrolment: 'link' | 'self') => ({
  issuer: 'https://id.example',
  rotationTimer: NEVER,
  config: configOf(enrolment),
});

const isEnrol = (page: Page) => page.text.includes('/enrol"');

async function atEnrol(world: OpenWorld, client_id: 'spa' | 'web2', browser: Browser = newBrowser(world)) {
  const { page } = await begin(world, { client_id }, { browser });
  const shown = isLogin(page) ? await signInAs(browser, page, 'alice') : page;
  return { browser, page: shown };
}

/** Adds an app. Both forms of the page go to one address. */
async function addApp(browser: Browser, page: Page, code = codeFor(page)): Promise<Page> {
  return browser.submit(page, '/enrol', { sealed: fieldOf(page, 'sealed'), code });
}

/** Confirms the notices, up to the consent. */
async function readOn(browser: Browser, page: Page): Promise<Page> {
  expect(page.text, page.url).toContain('/notice"');
  return browser.submit(page, '/notice');
}

describe('where users add their first factor themselves', () => {
  const world = useWorld(optionsOf('self'));
  standingClock();

  it('MF-30: it is added within the sign-in, with a notice and a record, and ends the other sessions', async () => {
    await setFactors(world(), 'alice');
    const { browser: other } = await complete(world(), 'alice');
    const { browser, page } = await atEnrol(world(), 'spa');
    expect([page.status, isEnrol(page)]).toEqual([200, true]);
    const wrong = await addApp(browser, page, '000000');
    expect([wrong.status, isEnrol(wrong), (await ownFactors(world())).oneTimeCode]).toEqual([
      422,
      true,
      undefined,
    ]);
    expect(world().recorded.audit('factor_changed').at(-1)).toMatchObject({
      outcome: 'failure',
      account_id: PEOPLE.alice,
      client_id: 'spa',
      action: 'added',
      reason: 'wrong_code',
    });
    // The browser that added it gets no notice.
    const added = await addApp(browser, page);
    expect(isConsent(added), added.text).toBe(true);
    expect(world().recorded.audit('factor_changed').at(-1)).toMatchObject({
      outcome: 'success',
      account_id: PEOPLE.alice,
      action: 'added',
      method: 'one_time_code',
    });
    expect(await silently(world(), browser, { client_id: 'spa' })).toBe('consent_required');
    expect(await silently(world(), other)).toBe('login_required');
    // The code that confirmed it is used up; the next one signs in.
    const next = await atEnrol(world(), 'spa');
    expect(isSecondStep(next.page)).toBe(true);
    expect((await next.browser.submit(next.page, '/code', { code: codeFor(page) })).status).toBe(401);
    // Another session gets the notice.
    const told = await next.browser.submit(next.page, '/code', { code: codeFor(page, 1) });
    expect(told.text).toContain('An authenticator app was added');
    expect(isConsent(await readOn(next.browser, told))).toBe(true);
  });

  it('a passkey is enough for an app that needs one, and a key that doesn’t verify its user is not', async () => {
    await setFactors(world(), 'alice');
    const { browser, page } = await atEnrol(world(), 'web2');
    expect([isEnrol(page), page.text.includes('class="secret"')]).toEqual([true, false]);
    const refused = await browser.submit(page, '/enrol', { response: '{}' });
    expect([refused.status, (await ownFactors(world())).passkeys]).toEqual([422, []]);
    const key = new SoftwareKey();
    const added = await browser.submit(page, '/enrol', { response: key.create(world(), page) });
    expect(isConsent(added), added.text).toBe(true);
    expect(await silently(world(), browser, { client_id: 'web2' })).toBe('consent_required');
  });

  it('of two browsers that wait on the page, one adds the first factor, also at once', async () => {
    await setFactors(world(), 'alice');
    const [one, two] = [await atEnrol(world(), 'spa'), await atEnrol(world(), 'spa')];
    const response = new SoftwareKey().create(world(), two.page);
    const answers = await Promise.all([
      addApp(one.browser, one.page),
      two.browser.submit(two.page, '/enrol', { response }),
    ]);
    expect(answers.filter(isConsent)).toHaveLength(1);
    const { oneTimeCode, passkeys } = await ownFactors(world());
    expect([oneTimeCode, ...passkeys].filter((factor) => factor !== undefined)).toHaveLength(1);
    const loser = answers.findIndex((page) => !isConsent(page));
    const { browser } = [one, two][loser] ?? one;
    expect(await silently(world(), browser, { client_id: 'spa' })).not.toBe('consent_required');
  });
});

describe('where the first factor needs a link', () => {
  const world = useWorld(optionsOf('link'));
  standingClock();

  it('who has proved a code just now adds the passkey that an app needs', async () => {
    const app = await giveOneTimeCodes(world());
    const { browser, page } = await atEnrol(world(), 'web2');
    expect(isSecondStep(page)).toBe(true);
    const enrol = await browser.submit(page, '/code', { code: app.code() });
    expect([isEnrol(enrol), enrol.text.includes('class="secret"')]).toEqual([true, false]);
    const added = await browser.submit(enrol, '/enrol', {
      response: new SoftwareKey().create(world(), enrol),
    });
    expect(isConsent(added), added.text).toBe(true);
    expect((await ownFactors(world())).passkeys).toHaveLength(1);
  });

  it('a session that proved its factor too long ago begins with the sign-in', async () => {
    const app = await giveOneTimeCodes(world());
    const { browser, page: step } = await enterPassword(world());
    expect(isConsent(await browser.submit(step, '/code', { code: app.code() }))).toBe(true);
    moveClock(5 * MINUTE + 1);
    const { page: asked } = await begin(world(), { client_id: 'web2' }, { browser });
    expect([isLogin(asked), isEnrol(asked)]).toEqual([true, false]);
    const again = await signInAs(browser, asked, 'alice', '/switch');
    expect(isSecondStep(again)).toBe(true);
    expect(isEnrol(await browser.submit(again, '/code', { code: app.code() }))).toBe(true);
  });
});
