// The second step of a sign-in in a real browser, as people walk it: with scripts and without, and by the keyboard alone.
import { createServer } from 'node:http';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { authorizationUrl } from '../world/authorization-request.ts';
import { launchChromium } from '../world/chromium.ts';
import {
  type AuthenticatorApp,
  newAuthenticatorApp,
  newRecoveryCodes,
  setFactors,
} from '../world/second-factors.ts';
import { freePort } from '../world/servers.ts';
import { GENEROUS, type OpenWorld, PASSWORDS, startWorld, worldClients } from '../world/world.ts';
import { tabTo, typeIn } from './keyboard.ts';

let world: OpenWorld;
let browser: Browser;
/** The app that people come from and go back to. */
let home: string;
const app = createServer((_request, response) => {
  response.setHeader('Content-Type', 'text/html').end('<title>App</title><h1>The app</h1>');
});
const faults: string[] = [];

beforeAll(async () => {
  const port = await freePort();
  await new Promise<void>((resolve) => app.listen(port, '127.0.0.1', resolve));
  home = `http://127.0.0.1:${port}/`;
  const redirect = { redirect_uris: [`${home}cb`] };
  const clients = worldClients({
    web: redirect,
    web2: { ...redirect, sign_in: { require: 'second_factor' } },
  });
  const sign_in = { one_time_codes: true, recovery_codes: 10 };
  world = await startWorld({ config: { ...GENEROUS, clients, sign_in } });
  browser = await launchChromium();
});
afterAll(async () => {
  await browser?.close();
  await world?.stop();
  app.closeAllConnections();
  app.close();
});

let phone: AuthenticatorApp;

/** Alice has an authenticator app and recovery codes; Bob has nothing. */
beforeEach(async () => {
  phone = newAuthenticatorApp('alice');
  const made = await newRecoveryCodes(world);
  await setFactors(world, 'alice', { oneTimeCode: phone.factor, recoveryCodes: made.recoveryCodes });
});
afterEach(() => {
  expect(faults.splice(0)).toEqual([]);
});

/** A new visitor at the sign-in. */
async function visit(client: 'web' | 'web2', options: BrowserContextOptions = {}): Promise<Page> {
  const page = await (await browser.newContext(options)).newPage();
  page.on('console', (message) => {
    // A browser says so of every 4xx.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      faults.push(message.text());
  });
  await page.goto(authorizationUrl(world, { client_id: client, redirect_uri: `${home}cb` }));
  return page;
}

async function signIn(page: Page, person: keyof typeof PASSWORDS): Promise<void> {
  await page.getByLabel('Username').fill(person);
  await page.getByLabel('Password', { exact: true }).fill(PASSWORDS[person]);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();

/** The answer that the app got. */
async function atTheApp(page: Page): Promise<URLSearchParams> {
  await heading(page, 'The app');
  return new URL(page.url()).searchParams;
}

describe('by mouse', () => {
  it.each([
    ['with JavaScript', true],
    ['with JavaScript off', false],
  ])(
    'a person mistypes a code, types the right one, and comes to the app, %s',
    async (_, javaScriptEnabled) => {
      const page = await visit('web', { javaScriptEnabled });
      await signIn(page, 'alice');
      await heading(page, 'One more step');
      await page.getByLabel('Code from your authenticator app').fill(phone.wrong());
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      expect(await page.getByRole('alert').innerText()).toContain('That code isn’t right');
      expect(await page.title()).toMatch(/^Error: /);
      await page.getByLabel('Code from your authenticator app').fill(phone.code());
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.getByRole('button', { name: 'Allow', exact: true }).click();
      expect((await atTheApp(page)).get('code')).not.toBeNull();
    },
  );

  it('a person without a second factor reads whom to ask, and goes back to the app or on as somebody else', async () => {
    const page = await visit('web2');
    await signIn(page, 'bob');
    await heading(page, 'Web app needs more than a password');
    expect(await page.getByText('Ask the people who run').isVisible()).toBe(true);
    await page.getByRole('link', { name: 'Use another account' }).click();
    await signIn(page, 'alice');
    await heading(page, 'One more step');
    expect(await page.locator('.lead').innerText()).toContain('alice');
    await page.goto(authorizationUrl(world, { client_id: 'web2', redirect_uri: `${home}cb` }));
    await page.getByRole('button', { name: 'Back to Web app' }).click();
    expect((await atTheApp(page)).get('error')).toBe('access_denied');
  });

  it('who cancels at the second step is back at the app, not signed in', async () => {
    const page = await visit('web');
    await signIn(page, 'alice');
    await heading(page, 'One more step');
    await page.getByRole('button', { name: 'Cancel' }).click();
    expect((await atTheApp(page)).get('error')).toBe('access_denied');
    await page.goto(authorizationUrl(world, { redirect_uri: `${home}cb` }));
    await heading(page, 'Sign in');
  });
});

describe('the keyboard alone', () => {
  it('goes through the second step, sees the focus, and what was wrong is said where it is', async () => {
    const page = await visit('web');
    await typeIn(page, 'alice');
    await page.keyboard.press('Tab');
    await typeIn(page, PASSWORDS.alice);
    await page.keyboard.press('Enter');
    await heading(page, 'One more step');
    await typeIn(page, phone.wrong());
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    const described = await page.evaluate('document.activeElement.getAttribute("aria-describedby")');
    expect(described).toContain('second-step-error');
    await typeIn(page, phone.code());
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Allow', exact: true }).waitFor();
    await tabTo(page, 'Allow');
    await page.keyboard.press('Enter');
    expect((await atTheApp(page)).get('code')).not.toBeNull();
  });
});
