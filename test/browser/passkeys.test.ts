// Passkeys in a real browser, with the virtual authenticator that it has for tests (WebAuthn L3 §11).
import { createServer } from 'node:http';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { authorizationUrl } from '../world/authorization-request.ts';
import { launchChromium } from '../world/chromium.ts';
import { givePasskey, newAuthenticatorApp, setFactors, SoftwareKey } from '../world/second-factors.ts';
import { freePort } from '../world/servers.ts';
import { GENEROUS, type OpenWorld, PASSWORDS, startWorld, worldClients } from '../world/world.ts';

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
afterEach(() => {
  expect(faults.splice(0)).toEqual([]);
});

type Authenticator = {
  readonly verifiesUser?: boolean;
  /** Whether the person touches it when asked. */
  readonly answers?: boolean;
  readonly keys?: readonly SoftwareKey[];
  /** Whether the browser offers passkeys in a field; older ones don't. */
  readonly offers?: boolean;
};

type Visit = {
  readonly page: Page;
  readonly devtools: CDPSession;
  /** Of its authenticator. */
  readonly plug: string;
};

async function plugIn(
  devtools: CDPSession,
  { verifiesUser = true, answers = true, keys = [] }: Omit<Authenticator, 'offers'> = {},
): Promise<string> {
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
  return authenticatorId;
}

const signInUrl = () => authorizationUrl(world, { client_id: 'web', redirect_uri: `${home}cb` });

/** A browser with an authenticator, at the sign-in of an app. */
async function visit({ offers = true, ...authenticator }: Authenticator, url = signInUrl()): Promise<Visit> {
  const page = await (await browser.newContext()).newPage();
  page.on('console', (message) => {
    // A browser says so of every 4xx.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      faults.push(message.text());
  });
  page.on('pageerror', ({ message }) => faults.push(message));
  if (!offers) await page.addInitScript('delete PublicKeyCredential.isConditionalMediationAvailable');
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  const plug = await plugIn(devtools, authenticator);
  await page.goto(url);
  return { page, devtools, plug };
}

async function signIn(page: Page): Promise<void> {
  await page.getByLabel('Username').fill('alice');
  await page.getByLabel('Password', { exact: true }).fill(PASSWORDS.alice);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();

async function atTheApp(page: Page): Promise<URLSearchParams> {
  await page.getByRole('button', { name: 'Allow', exact: true }).click();
  await heading(page, 'The app');
  return new URL(page.url()).searchParams;
}

describe('a passkey', () => {
  it('that the browser offers in the field of the username is the whole sign-in', async () => {
    const key = await givePasskey(world);
    const { page } = await visit({ keys: [key] });
    expect((await atTheApp(page)).get('code')).not.toBeNull();
  });

  it('is asked for by the button where the browser offers none by itself', async () => {
    const key = await givePasskey(world);
    const { page } = await visit({ keys: [key], offers: false });
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    expect((await atTheApp(page)).get('code')).not.toBeNull();
  });

  it('that the service does not know is refused once, which the page says', async () => {
    await setFactors(world, 'alice');
    const { page } = await visit({ keys: [new SoftwareKey()] });
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').innerText()).toContain('That passkey didn’t work.');
    expect(await page.title()).toMatch(/^Error: /);
    await signIn(page);
    expect((await atTheApp(page)).get('code')).not.toBeNull();
  });

  it('is the second step after a password', async () => {
    const key = await givePasskey(world, 'alice', { key: new SoftwareKey({ verifiesUser: false }) });
    const { page } = await visit({ verifiesUser: false, keys: [key] });
    await signIn(page);
    await heading(page, 'One more step');
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    expect((await atTheApp(page)).get('code')).not.toBeNull();
  });

  it('that cannot verify its person is no whole sign-in: the browser has none to offer, and the page stays', async () => {
    const key = await givePasskey(world, 'alice', { key: new SoftwareKey({ verifiesUser: false }) });
    const { page } = await visit({ verifiesUser: false, keys: [key], offers: false });
    // What the page asks the browser, as it ends.
    await page.evaluate(`(() => {
      const get = navigator.credentials.get.bind(navigator.credentials);
      window.asked = new Promise((done) => {
        navigator.credentials.get = (options) => {
          const answer = get(options);
          answer.then(() => done('given'), ({ name }) => done(name));
          return answer;
        };
      });
    })()`);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    expect(await page.evaluate('window.asked')).toBe('NotAllowedError');
    await signIn(page);
    await heading(page, 'One more step');
  });

  it('that nobody touches leaves the page as it is, and the password leads on', async () => {
    const key = await givePasskey(world, 'alice', { oneTimeCode: newAuthenticatorApp('alice').factor });
    const { page } = await visit({ answers: false, keys: [key] });
    await signIn(page);
    await heading(page, 'One more step');
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await page.getByLabel('Code from your authenticator app').fill('000000');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('alert').waitFor();
  });

  it('that a page of another origin asked for is refused', async () => {
    const key = await givePasskey(world);
    const { page: relayed } = await visit({ answers: false });
    const form = relayed.locator('form[data-passkey]');
    const options = await form.getAttribute('data-options');
    // To the browser every port of the host is the same relying party.
    const { page } = await visit({ keys: [key] }, home.replace('127.0.0.1', 'localhost'));
    const response = await page.evaluate<string>(`
      navigator.credentials
        .get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(${options}) })
        .then((credential) => JSON.stringify(credential.toJSON()))`);
    await relayed.evaluate(`{
      const form = document.querySelector('form[data-passkey]');
      form.elements.response.value = ${JSON.stringify(response)};
      form.submit();
    }`);
    expect(await relayed.getByRole('alert').innerText()).toContain('That passkey didn’t work.');
    await page.goto(signInUrl());
    expect((await atTheApp(page)).get('code')).not.toBeNull();
  });
});
