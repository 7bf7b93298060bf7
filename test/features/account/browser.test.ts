// The page where people help themselves, as they walk it in a real browser that runs no scripts.
import path from 'node:path';
import { Secret, TOTP } from 'otpauth';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addCarol, CAROL } from '../../world/account-page.ts';
import { signIn as signInAtApp } from '../../world/app.ts';
import { launchChromium } from '../../world/chromium.ts';
import { MINUTE, moveClock, standingClock } from '../../world/clock.ts';
import { newBrowser, silently } from '../../world/person.ts';
import { CODE_PERIOD } from '../../world/second-factors.ts';
import { freePort } from '../../world/servers.ts';
import { heading, press, fillSignIn } from '../../world/visitors.ts';
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

  it('asks for a sign-in before a change, of a page that was left open too', async () => {
    const other = await atApp();
    await page.reload();
    moveClock(6 * MINUTE);
    await press(page, 'Sign out everywhere else');
    await heading(page, 'Sign in again');
    await picture(page, 'stale');
    await page.getByRole('link', { name: 'Sign in' }).click();
    await signIn(page);
    await heading(page, 'Your account');
    expect(await silently(world, other.browser, { client_id: 'web' })).not.toBe('login_required');
    moveClock(6 * MINUTE);
    await page.reload();
    expect(await page.locator('form').count()).toBe(0);
    await picture(page, 'not fresh');
    await page.getByRole('link', { name: 'Sign in again' }).click();
    await signIn(page);
    await press(page, 'Sign out everywhere else');
    await page.getByRole('status').waitFor();
  });

  it('leads to the factors, and shows what happened to them', async () => {
    await page.getByRole('link', { name: 'Set up Authenticator app' }).click();
    await heading(page, 'Set up an authenticator app');
    const totp = new TOTP({ secret: Secret.fromBase32(await page.locator('.secret').innerText()) });
    const code = () => totp.generate({ timestamp: Date.now() });
    await page.getByLabel('Code from your authenticator app').fill(code());
    await press(page, 'Turn on');
    await heading(page, 'Your recovery codes');
    await page.getByRole('link', { name: 'I’ve saved my codes' }).click();
    await page.getByRole('link', { name: 'Your account' }).click();
    await page.getByRole('link', { name: 'Manage Recovery codes' }).waitFor();
    const events = section(page, 'Activity');
    await events.getByText('A passkey or authenticator app was added.').waitFor();
    await events.getByText('New recovery codes were generated.').waitFor();
    // From now on a change asks for the code as well.
    moveClock(6 * MINUTE);
    await page.reload();
    await page.getByRole('link', { name: 'Sign in again' }).click();
    await signIn(page);
    await heading(page, 'Verify it’s you');
    moveClock(CODE_PERIOD);
    await page.getByLabel('Code from your authenticator app').fill(code());
    await press(page, 'Sign in');
    await heading(page, 'Your account');
    expect(await page.getByLabel('Current password').count()).toBe(1);
    await picture(page, 'with a factor');
  });
});

/** Carol, in another browser, at an app. */
async function atApp(password: string = CAROL.password) {
  const elsewhere = newBrowser(world);
  const page = await elsewhere.open(`${world.issuer}/account`);
  await elsewhere.submit(page, '/login', { username: CAROL.username, password });
  return signInAtApp(world, { browser: elsewhere });
}
