// Users with a real browser, and the app that they start from and return to.
import { createServer } from 'node:http';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { launchChromium } from './chromium.ts';
import type { SoftwareKey } from './second-factors.ts';
import { freePort } from './servers.ts';
import { GENEROUS, type OpenWorld, PASSWORDS, startWorld, worldClients, type WorldOptions } from './world.ts';

export type Visitors = {
  readonly world: OpenWorld;
  readonly browser: Browser;
  /** The app's own page. */
  readonly home: string;
  /** Opens a browser for a new user. A console error of the page fails the test. */
  readonly visit: (options?: BrowserContextOptions) => Promise<Page>;
};

/** One world, app and browser for all tests of a file. `begin` receives them before the first test. */
export function useVisitors(
  options: (home: string) => WorldOptions | Promise<WorldOptions>,
  begin: (visitors: Visitors) => void,
): void {
  const faults: string[] = [];
  const app = createServer((_request, response) => {
    response.setHeader('Content-Type', 'text/html').end('<title>App</title><h1>The app</h1>');
  });
  let world: OpenWorld | undefined;
  let browser: Browser | undefined;
  beforeAll(async () => {
    const port = await freePort();
    await new Promise<void>((resolve) => app.listen(port, '127.0.0.1', resolve));
    const home = `http://127.0.0.1:${port}/`;
    world = await startWorld(await options(home));
    const opened = (browser = await launchChromium());
    const visit = async (context: BrowserContextOptions = {}) => {
      const page = await (await opened.newContext(context)).newPage();
      page.on('console', (message) => {
        // A browser reports every 4xx this way.
        if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
          faults.push(message.text());
      });
      page.on('pageerror', ({ message }) => faults.push(message));
      return page;
    };
    begin({ world, browser, home, visit });
  });
  afterAll(async () => {
    await browser?.close();
    await world?.stop();
    app.closeAllConnections();
    app.close();
  });
  afterEach(() => {
    expect(faults.splice(0)).toEqual([]);
  });
}

/** Options with every second factor, at an issuer with a host name: an IP address can't be a relying party. */
export async function withPasskeys(home: string): Promise<WorldOptions> {
  const port = await freePort();
  const redirect = { redirect_uris: [`${home}cb`] };
  return {
    issuer: `http://localhost:${port}`,
    config: {
      ...GENEROUS,
      listen: { host: '127.0.0.1', port },
      clients: worldClients({ web: redirect, web2: { ...redirect, sign_in: { require: 'passkey' } } }),
      sign_in: { passkeys: true, one_time_codes: true, recovery_codes: 10 },
    },
  };
}

export type Authenticator = {
  readonly verifiesUser?: boolean;
  /** Whether the user touches it when asked. */
  readonly answers?: boolean;
  readonly keys?: readonly SoftwareKey[];
};

/** Adds the virtual authenticator that a browser has for tests (WebAuthn L3 §11). */
export async function plugIn(
  page: Page,
  world: OpenWorld,
  { verifiesUser = true, answers = true, keys = [] }: Authenticator = {},
): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: verifiesUser,
      isUserVerified: verifiesUser,
      automaticPresenceSimulation: answers,
    },
  });
  for (const key of keys) {
    await devtools.send('WebAuthn.addCredential', { authenticatorId, credential: key.forBrowser(world) });
  }
}

export const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();
export const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();

export async function fillSignIn(
  page: Page,
  username: string = 'alice',
  password: string = PASSWORDS[username as keyof typeof PASSWORDS],
): Promise<void> {
  await page.getByLabel('Username').fill(username);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await press(page, 'Sign in');
}

/** The parameters that the app received. */
export async function atTheApp(page: Page): Promise<URLSearchParams> {
  await heading(page, 'The app');
  const { pathname, searchParams } = new URL(page.url());
  expect(pathname).toBe('/cb');
  return searchParams;
}
