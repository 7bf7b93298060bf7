// Passkeys in a real browser, with a virtual authenticator.
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { authorizationUrl } from '../../world/authorization-request.ts';
import { givePasskey, newAuthenticatorApp, setFactors, SoftwareKey } from '../../world/second-factors.ts';
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

let place: Visitors;
useVisitors(withPasskeys, (begun) => (place = begun));

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
    await setFactors(place.world, 'alice');
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
