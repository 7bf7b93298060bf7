// Second factors in a real browser with a virtual authenticator: from an administrator's link to the user's page for factors, and
// sign-ins by passkey.
import { Secret, TOTP } from 'otpauth';
import type { Page } from 'playwright-core';
import { beforeEach, describe, expect, it } from 'vitest';
import { oneTimeLinkUrl } from '../../../src/users/one-time-links.ts';
import { tabTo } from '../../browser/keyboard.ts';
import { authorizationUrl } from '../../world/authorization-request.ts';
import { newLink } from '../../world/one-time-link.ts';
import {
  CODE_PERIOD,
  givePasskey,
  newAuthenticatorApp,
  setFactors,
  SoftwareKey,
} from '../../world/second-factors.ts';
import {
  atTheApp,
  type Authenticator,
  heading,
  plugIn,
  press,
  fillSignIn,
  useVisitors,
  type Visitors,
  withPasskeys,
} from '../../world/visitors.ts';
import { PEOPLE } from '../../world/world.ts';

let place: Visitors;
useVisitors(withPasskeys, (begun) => (place = begun));
beforeEach(() => setFactors(place.world, 'alice'));

/** A new visitor, whose browser has an authenticator with these keys. */
async function visitWithKeys(
  url: string,
  javaScriptEnabled = true,
  keys: readonly SoftwareKey[] = [],
): Promise<Page> {
  const page = await place.visit({ javaScriptEnabled });
  await plugIn(page, place.world, { keys });
  await page.goto(url);
  return page;
}

/** Creates an administrator's link for a first factor. */
const linkOf = async () =>
  oneTimeLinkUrl(place.world.issuer, await newLink(place.world, 'factors', PEOPLE.alice));

/** The codes of an app that got the key from the page. */
async function appWith(page: Page): Promise<(periods?: number) => string> {
  const totp = new TOTP({ secret: Secret.fromBase32(await page.locator('.secret').innerText()) });
  return (periods = 0) => totp.generate({ timestamp: Date.now() + periods * CODE_PERIOD * 1000 });
}

/** The text of each item in the list of factors. */
const listed = (page: Page) => page.locator('.items:has(form) li').allInnerTexts();

describe.each([
  ['with JavaScript', true],
  ['with JavaScript off', false],
])('%s', (_, javaScriptEnabled) => {
  it('a link leads to an authenticator app, a sign-in with it, and recovery codes', async () => {
    const page = await visitWithKeys(await linkOf(), javaScriptEnabled);
    await heading(page, 'Set up two-step verification');
    const code = await appWith(page);
    await page.getByLabel('Code from your authenticator app').fill('12');
    await press(page, 'Turn on');
    expect(await page.getByRole('alert').innerText()).toContain('That code didn’t work.');
    await page.getByLabel('Code from your authenticator app').fill(code());
    if (!javaScriptEnabled) await press(page, 'Turn on');
    await heading(page, 'Two-step verification is on');
    await page.getByRole('link', { name: 'Get recovery codes' }).click();
    await fillSignIn(page);
    await heading(page, 'Verify it’s you');
    await page.getByLabel('Code from your authenticator app').fill(code(1));
    if (!javaScriptEnabled) await press(page, 'Sign in');
    await heading(page, 'Changes to your account');
    await press(page, 'Continue');
    await heading(page, 'Security');
    expect(await page.locator('.qr').count()).toBe(0);
    const time = page.locator('time').first();
    expect(await time.innerText()).toMatch(javaScriptEnabled ? /^now$| ago$/ : / UTC$/);
    expect(await time.getAttribute('title')).toEqual(
      javaScriptEnabled ? expect.stringContaining(' at ') : null,
    );
    await press(page, 'Generate new codes');
    await heading(page, 'Your recovery codes');
    expect(await page.locator('.codes li').count()).toBe(10);
    await page.getByRole('link', { name: 'I’ve saved my codes' }).click();
    expect(await page.getByText('10 codes left').isVisible()).toBe(true);
    await page.getByRole('link', { name: 'Replace Authenticator app' }).click();
    await heading(page, 'Replace your authenticator app');
    expect(await page.locator('.qr').count()).toBe(1);
    await page.getByRole('link', { name: 'Security' }).click();
    await press(page, 'Remove Authenticator app');
    await page.getByText('Only a password protects your account.').waitFor();
  });
});

it('a passkey is added by a link, named, and is then a whole sign-in', async () => {
  const page = await visitWithKeys(await linkOf());
  await page.getByLabel('Name (optional)').fill('  Laptop at home ');
  await press(page, 'Add a passkey');
  await heading(page, 'Two-step verification is on');
  await page.getByRole('link', { name: 'Get recovery codes' }).click();
  // The browser offers the passkey in the username field.
  await press(page, 'Continue');
  await heading(page, 'Security');
  expect((await listed(page)).join()).toContain('Laptop at home');
});

it('the keyboard alone makes recovery codes, and reads why what an app needs is not removed', async () => {
  const key = await givePasskey(place.world);
  const page = await visitWithKeys(`${place.world.issuer}/account/factors`, true, [key]);
  await heading(page, 'Security');
  await tabTo(page, 'Generate new codes');
  await page.keyboard.press('Enter');
  await heading(page, 'Your recovery codes');
  await tabTo(page, 'I’ve saved my codes');
  await page.keyboard.press('Enter');
  await heading(page, 'Security');
  await tabTo(page, 'Remove');
  await page.keyboard.press('Enter');
  expect(await page.getByRole('alert').innerText()).toContain('You need at least one second step.');
  expect(await page.title()).toMatch(/^Error: /);
});

const signInUrl = () => authorizationUrl(place.world, { client_id: 'web', redirect_uri: `${place.home}cb` });

/** Opens a sign-in in a browser with an authenticator. Older browsers don't offer passkeys in a field. */
async function visitWithAuthenticator(
  { offers = true, ...authenticator }: Authenticator & { readonly offers?: boolean },
  url = signInUrl(),
): Promise<Page> {
  const page = await place.visit();
  if (!offers) await page.addInitScript('delete PublicKeyCredential.isConditionalMediationAvailable');
  await plugIn(page, place.world, authenticator);
  await page.goto(url);
  return page;
}

async function allowed(page: Page): Promise<string | null> {
  await press(page, 'Allow');
  return (await atTheApp(page)).get('code');
}

describe('a passkey', () => {
  it('that the browser offers in the field of the username is the whole sign-in', async () => {
    const key = await givePasskey(place.world);
    const page = await visitWithAuthenticator({ keys: [key] });
    expect(await allowed(page)).not.toBeNull();
  });

  it('is asked for by the button where the browser offers none by itself', async () => {
    const key = await givePasskey(place.world);
    const page = await visitWithAuthenticator({ keys: [key], offers: false });
    await press(page, 'Sign in with a passkey');
    expect(await allowed(page)).not.toBeNull();
  });

  it('that the service does not know is refused once, which the page says', async () => {
    const page = await visitWithAuthenticator({ keys: [new SoftwareKey()] });
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').innerText()).toContain('That passkey didn’t work.');
    expect(await page.title()).toMatch(/^Error: /);
    await fillSignIn(page);
    expect(await allowed(page)).not.toBeNull();
  });

  it('is the second step after a password', async () => {
    const key = await givePasskey(place.world, 'alice', { key: new SoftwareKey({ verifiesUser: false }) });
    const page = await visitWithAuthenticator({ verifiesUser: false, keys: [key] });
    await fillSignIn(page);
    await heading(page, 'Verify it’s you');
    await press(page, 'Use a passkey');
    expect(await allowed(page)).not.toBeNull();
  });

  it('that cannot verify its person is no whole sign-in: the browser has none to offer, and the page stays', async () => {
    const key = await givePasskey(place.world, 'alice', { key: new SoftwareKey({ verifiesUser: false }) });
    const page = await visitWithAuthenticator({ verifiesUser: false, keys: [key], offers: false });
    // Records the outcome of the page's requests to the browser.
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
    await press(page, 'Sign in with a passkey');
    expect(await page.evaluate('window.asked')).toBe('NotAllowedError');
    await fillSignIn(page);
    await heading(page, 'Verify it’s you');
  });

  it('that nobody touches leaves the page as it is, and the password leads on', async () => {
    const key = await givePasskey(place.world, 'alice', { oneTimeCode: newAuthenticatorApp('alice').factor });
    const page = await visitWithAuthenticator({ answers: false, keys: [key] });
    await fillSignIn(page);
    await heading(page, 'Verify it’s you');
    await press(page, 'Use a passkey');
    await page.getByLabel('Code from your authenticator app').fill('000000');
    await press(page, 'Sign in');
    await page.getByRole('alert').waitFor();
  });

  it('that a page of another origin asked for is refused', async () => {
    const key = await givePasskey(place.world);
    const relayed = await visitWithAuthenticator({ answers: false });
    const form = relayed.locator('form[data-passkey]');
    const options = await form.getAttribute('data-options');
    // To the browser, every port of the host is the same relying party.
    const page = await visitWithAuthenticator({ keys: [key] }, place.home.replace('127.0.0.1', 'localhost'));
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
    expect(await allowed(page)).not.toBeNull();
  });
});
