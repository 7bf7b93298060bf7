// The account page in a real browser that runs no scripts.
import path from 'node:path';
import { Secret, TOTP } from 'otpauth';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tabTo, typeIn } from '../../browser/keyboard.ts';
import { addCarol, CAROL, openAccount } from '../../world/account-page.ts';
import { authorizationUrl } from '../../world/authorization-request.ts';
import { signIn as signInAtApp } from '../../world/app.ts';
import { launchChromium } from '../../world/chromium.ts';
import { moveClock, standingClock } from '../../world/clock.ts';
import { newBrowser, silently } from '../../world/person.ts';
import { CODE_PERIOD } from '../../world/second-factors.ts';
import { freePort } from '../../world/servers.ts';
import { heading, fillSignIn } from '../../world/visitors.ts';
import { NEVER } from '../../world/turns.ts';
import { GENEROUS, type OpenWorld, startWorld, worldClients } from '../../world/world.ts';

let world: OpenWorld;
let browser: Browser;

standingClock();

beforeAll(async () => {
  const port = await freePort();
  const started = await startWorld({
    issuer: `http://localhost:${port}`,
    rotationTimer: NEVER,
    config: {
      ...GENEROUS,
      listen: { host: '127.0.0.1', port },
      account: true,
      sign_in: { one_time_codes: true, recovery_codes: 10, enrolment: 'self' },
      clients: worldClients({ web: { client_uri: 'https://app.example/' } }),
    },
  });
  world = { ...started, base: started.issuer };
  await addCarol(world);
  browser = await launchChromium();
});
afterAll(async () => {
  await browser?.close();
  await world?.stop();
});

const signIn = (page: Page, password: string = CAROL.password) => fillSignIn(page, CAROL.username, password);
const section = (page: Page, name: string) => page.getByRole('region', { name });

async function picture(page: Page, name: string): Promise<void> {
  if (process.env['POSTERN_PICTURES'] !== '1') return;
  await page.screenshot({ path: path.resolve('artifacts/account', `${name}.png`), fullPage: true });
}

describe('the account page without JavaScript', () => {
  let page: Page;
  beforeAll(async () => {
    page = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
    await page.goto(world.issuer);
    await page.getByRole('link', { name: 'Your account' }).click();
    await signIn(page);
    await heading(page, 'Your account');
  });

  it('ends one session, and then all others', async () => {
    const elsewhere = [await atApp(), await atApp(), await atApp()];
    await page.reload();
    const sessions = section(page, 'Sessions');
    expect(await sessions.getByRole('listitem').count()).toBe(4);
    await picture(page, 'sessions');
    await sessions
      .getByRole('button', { name: /^Sign out .+,/ })
      .first()
      .click();
    expect(await page.getByRole('status').innerText()).toBe('You’re signed out of that browser.');
    expect(await sessions.getByRole('listitem').count()).toBe(3);
    await sessions.getByRole('button', { name: 'Sign out everywhere else' }).click();
    expect(await page.getByRole('status').innerText()).toBe('You’re signed out everywhere else.');
    expect(await sessions.getByRole('listitem').allInnerTexts()).toEqual([
      expect.stringContaining('This browser'),
    ]);
    for (const one of elsewhere) expect(await silently(world, one.browser)).toBe('login_required');
  });
});

describe.each([
  ['with JavaScript', true, 'dora'],
  ['with JavaScript off', false, 'erik'],
] as const)('the keyboard alone, %s', (_, javaScriptEnabled, username) => {
  const password = 'seven herons over the weir';

  async function visit(url: string): Promise<Page> {
    const page = await (await browser.newContext({ javaScriptEnabled })).newPage();
    await page.route('https://app.example/**', (route) =>
      route.fulfill({ body: '<h1>The app</h1>', contentType: 'text/html' }),
    );
    await page.goto(url);
    return page;
  }
  async function signInByKeys(page: Page, typed: string): Promise<void> {
    await typeIn(page, username);
    await tabTo(page, 'Password');
    await typeIn(page, typed);
    await page.keyboard.press('Enter');
  }
  /** Types a code. Where scripts run, its last digit sends the form. */
  async function typeCode(page: Page, code: string): Promise<void> {
    await typeIn(page, code.slice(0, -1));
    await page.keyboard.press(code.slice(-1));
    if (!javaScriptEnabled) await page.keyboard.press('Enter');
  }
  async function follow(page: Page, name: string | RegExp): Promise<void> {
    await tabTo(page, name);
    await page.keyboard.press('Enter');
  }

  it('signs in, allows, changes the password, signs out a browser, adds an app, and signs in with it', async () => {
    await addCarol(world, { id: `usr_${username}00000000000003`, username });
    const page = await visit(authorizationUrl(world));
    await signInByKeys(page, CAROL.password);
    await heading(page, 'Web app wants access to your account');
    await follow(page, 'Allow');
    await heading(page, 'The app');

    await page.goto(`${world.issuer}/account`);
    await follow(page, /^Password.*Change$/);
    for (const [label, text] of [
      ['Current password', CAROL.password],
      ['New password', password],
      ['Confirm new password', password],
    ] as const) {
      await tabTo(page, label);
      await typeIn(page, text);
    }
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText('Your password was changed.').waitFor();

    // Sessions of that second have ended.
    moveClock(2);
    await openAccount(world, newBrowser(world), { username, password });
    await page.reload();
    await follow(page, /^Sign out .+,/);
    await page.getByRole('status').getByText('You’re signed out of that browser.').waitFor();

    await follow(page, 'Set up Authenticator app');
    await heading(page, 'Set up an authenticator app');
    const totp = new TOTP({ secret: Secret.fromBase32(await page.locator('.secret').innerText()) });
    await tabTo(page, 'Code from your authenticator app');
    await typeCode(page, totp.generate({ timestamp: Date.now() }));
    await heading(page, 'Your recovery codes');
    await follow(page, 'I’ve saved my codes');
    await heading(page, 'Security');

    moveClock(CODE_PERIOD);
    const later = await visit(authorizationUrl(world));
    await signInByKeys(later, password);
    await heading(later, 'Verify it’s you');
    await typeCode(later, totp.generate({ timestamp: Date.now() }));
    await heading(later, 'Changes to your account');
    await later.locator(':focus').waitFor();
    await later.keyboard.press('Enter');
    await later.getByRole('heading', { level: 1, name: /^The app$|wants access/ }).waitFor();
  });
});

/** Opens an app in another browser, as Carol. */
async function atApp(password: string = CAROL.password) {
  const elsewhere = newBrowser(world);
  const page = await elsewhere.open(`${world.issuer}/account`);
  await elsewhere.submit(page, '/login', { username: CAROL.username, password });
  return signInAtApp(world, { browser: elsewhere });
}
