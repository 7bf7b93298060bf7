// From an operator's link to a person's own page for factors, as a person walks it in a real browser.
import { createServer } from 'node:http';
import { Secret, TOTP } from 'otpauth';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { oneTimeLinkUrl } from '../../src/users/one-time-links.ts';
import { launchChromium } from '../world/chromium.ts';
import { CODE_PERIOD, givePasskey, setFactors, type SoftwareKey } from '../world/second-factors.ts';
import { freePort } from '../world/servers.ts';
import { GENEROUS, type OpenWorld, PASSWORDS, PEOPLE, startWorld, worldClients } from '../world/world.ts';
import { newLink } from '../world/one-time-link.ts';
import { tabTo } from './keyboard.ts';

let world: OpenWorld;
let browser: Browser;
/** The app that people come from and go back to. */
let home: string;
const app = createServer((_request, response) => {
  response.setHeader('Content-Type', 'text/html').end('<title>App</title><h1>The app</h1>');
});
const faults: string[] = [];

beforeAll(async () => {
  const [appPort, port] = [await freePort(), await freePort()];
  await new Promise<void>((resolve) => app.listen(appPort, '127.0.0.1', resolve));
  home = `http://127.0.0.1:${appPort}/`;
  const redirect = { redirect_uris: [`${home}cb`] };
  world = await startWorld({
    // An IP address is no relying party.
    issuer: `http://localhost:${port}`,
    config: {
      ...GENEROUS,
      listen: { host: '127.0.0.1', port },
      clients: worldClients({ web: redirect, web2: { ...redirect, sign_in: { require: 'passkey' } } }),
      sign_in: { passkeys: true, one_time_codes: true, recovery_codes: 10 },
    },
  });
  browser = await launchChromium();
});
afterAll(async () => {
  await browser?.close();
  await world?.stop();
  app.closeAllConnections();
  app.close();
});
beforeEach(() => setFactors(world, 'alice'));
afterEach(() => {
  expect(faults.splice(0)).toEqual([]);
});

/** A new visitor, whose browser has an authenticator with these keys. */
async function visit(
  url: string,
  { keys = [], ...options }: BrowserContextOptions & { readonly keys?: readonly SoftwareKey[] } = {},
): Promise<Page> {
  const page = await (await browser.newContext(options)).newPage();
  page.on('console', (message) => {
    // A browser says so of every 4xx.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      faults.push(message.text());
  });
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  for (const key of keys) {
    await devtools.send('WebAuthn.addCredential', { authenticatorId, credential: key.forBrowser(world) });
  }
  await page.goto(url);
  return page;
}

/** What an operator hands out for a first factor. */
const linkOf = async () => oneTimeLinkUrl(world.issuer, await newLink(world, 'factors', PEOPLE.alice));

async function signIn(page: Page): Promise<void> {
  await page.getByLabel('Username').fill('alice');
  await page.getByLabel('Password', { exact: true }).fill(PASSWORDS.alice);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();

/** The app that took the key from the page. */
async function appWith(page: Page): Promise<(periods?: number) => string> {
  const totp = new TOTP({ secret: Secret.fromBase32(await page.locator('.secret').innerText()) });
  return (periods = 0) => totp.generate({ timestamp: Date.now() + periods * CODE_PERIOD * 1000 });
}

/** Each item of the list of factors, in words. */
const listed = (page: Page) => page.locator('.items:has(form) li').allInnerTexts();

describe.each([
  ['with JavaScript', true],
  ['with JavaScript off', false],
])('%s', (_, javaScriptEnabled) => {
  it('a link leads to an authenticator app, a sign-in with it, and recovery codes', async () => {
    const page = await visit(await linkOf(), { javaScriptEnabled });
    await heading(page, 'Add a second step');
    const code = await appWith(page);
    await page.getByLabel('Code from your authenticator app').fill('12');
    await page.getByRole('button', { name: 'Add the app' }).click();
    expect(await page.getByRole('alert').innerText()).toContain('That code isn’t right.');
    await page.getByLabel('Code from your authenticator app').fill(code());
    await page.getByRole('button', { name: 'Add the app' }).click();
    await heading(page, 'Second step added');
    await page.getByRole('link', { name: 'Get recovery codes' }).click();
    await signIn(page);
    await heading(page, 'One more step');
    await page.getByLabel('Code from your authenticator app').fill(code(1));
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await heading(page, 'Please read this');
    await page.getByRole('button', { name: 'Continue' }).click();
    await heading(page, 'Passkeys and codes');
    await page.getByRole('button', { name: 'Make new recovery codes' }).click();
    await heading(page, 'Your recovery codes');
    expect(await page.locator('.codes li').count()).toBe(10);
    await page.getByRole('link', { name: 'I’ve kept them' }).click();
    expect(await page.getByText('Left: 10').isVisible()).toBe(true);
    await page.getByRole('button', { name: 'Remove Authenticator app' }).click();
    await page.getByText('You sign in with your password alone.').waitFor();
  });
});

describe('a passkey', () => {
  it('is added by a link, named, and is then a whole sign-in', async () => {
    const page = await visit(await linkOf());
    await page.getByLabel('Name (optional)').fill('  Laptop at home ');
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await heading(page, 'Second step added');
    await page.getByRole('link', { name: 'Get recovery codes' }).click();
    // The browser offers it in the field of the username.
    await page.getByRole('button', { name: 'Continue' }).click();
    await heading(page, 'Passkeys and codes');
    expect((await listed(page)).join()).toContain('Laptop at home');
  });
});

describe('the keyboard alone', () => {
  it('makes recovery codes, and reads why what an app needs is not removed', async () => {
    const key = await givePasskey(world);
    const page = await visit(`${world.issuer}/account/factors`, { keys: [key] });
    await heading(page, 'Passkeys and codes');
    await tabTo(page, 'Make new recovery codes');
    await page.keyboard.press('Enter');
    await heading(page, 'Your recovery codes');
    await tabTo(page, 'I’ve kept them');
    await page.keyboard.press('Enter');
    await heading(page, 'Passkeys and codes');
    await tabTo(page, 'Remove');
    await page.keyboard.press('Enter');
    expect(await page.getByRole('alert').innerText()).toContain('That can’t be removed');
    expect(await page.title()).toMatch(/^Error: /);
  });
});
