// The second step of a sign-in in a real browser: with and without scripts, and with the keyboard alone.
import type { BrowserContextOptions, Page } from 'playwright-core';
import { beforeEach, describe, expect, it } from 'vitest';
import { authorizationUrl } from '../../world/authorization-request.ts';
import {
  type AuthenticatorApp,
  newAuthenticatorApp,
  newRecoveryCodes,
  setFactors,
} from '../../world/second-factors.ts';
import { atTheApp, heading, press, fillSignIn, useVisitors, type Visitors } from '../../world/visitors.ts';
import { GENEROUS, PASSWORDS, worldClients } from '../../world/world.ts';
import { tabTo, typeIn } from '../../browser/keyboard.ts';

let place: Visitors;
useVisitors(
  (home) => {
    const redirect = { redirect_uris: [`${home}cb`] };
    const web2 = { ...redirect, sign_in: { require: 'second_factor' } };
    const sign_in = { one_time_codes: true, recovery_codes: 10 };
    return { config: { ...GENEROUS, clients: worldClients({ web: redirect, web2 }), sign_in } };
  },
  (begun) => (place = begun),
);

let phone: AuthenticatorApp;

/** Alice has an authenticator app and recovery codes; Bob has nothing. */
beforeEach(async () => {
  phone = newAuthenticatorApp('alice');
  const made = await newRecoveryCodes(place.world);
  await setFactors(place.world, 'alice', { oneTimeCode: phone.factor, recoveryCodes: made.recoveryCodes });
});

const authorizeUrl = (client: 'web' | 'web2') =>
  authorizationUrl(place.world, { client_id: client, redirect_uri: `${place.home}cb` });

/** Opens the sign-in in a new browser. */
async function visit(client: 'web' | 'web2', options: BrowserContextOptions = {}): Promise<Page> {
  const page = await place.visit(options);
  await page.goto(authorizeUrl(client));
  return page;
}

describe('by mouse', () => {
  it('a person without scripts mistypes a code, types the right one, and comes to the app', async () => {
    const page = await visit('web', { javaScriptEnabled: false });
    await fillSignIn(page, 'alice');
    await heading(page, 'Verify it’s you');
    await page.getByLabel('Code from your authenticator app').fill(phone.wrong());
    await press(page, 'Sign in');
    expect(await page.getByRole('alert').innerText()).toContain('That code didn’t work.');
    expect(await page.title()).toMatch(/^Error: /);
    await page.getByLabel('Code from your authenticator app').fill(phone.code());
    await press(page, 'Sign in');
    await press(page, 'Allow');
    expect((await atTheApp(page)).get('code')).not.toBeNull();
  });

  it('a person without a second factor reads whom to ask, and goes back to the app or on as somebody else', async () => {
    const page = await visit('web2');
    await fillSignIn(page, 'bob');
    await heading(page, 'Web app requires two-step verification');
    expect(await page.getByText('Ask your administrator for a setup link.').isVisible()).toBe(true);
    await page.getByRole('link', { name: 'Use another account' }).click();
    await fillSignIn(page, 'alice');
    await heading(page, 'Verify it’s you');
    expect(await page.locator('.lead').innerText()).toContain('alice');
    await page.goto(authorizeUrl('web2'));
    await press(page, 'Back to Web app');
    expect((await atTheApp(page)).get('error')).toBe('access_denied');
  });
});

/** Types all digits of a code; the last one sends the form. */
async function typeToTheLastDigit(page: Page, code: string): Promise<void> {
  await typeIn(page, code.slice(0, -1));
  await page.keyboard.press(code.slice(-1));
}

it('the keyboard alone goes through the second step, sees the focus, and what was wrong is said where it is', async () => {
  const page = await visit('web');
  await typeIn(page, 'alice');
  await page.keyboard.press('Tab');
  await typeIn(page, PASSWORDS.alice);
  await page.keyboard.press('Enter');
  await heading(page, 'Verify it’s you');
  await typeToTheLastDigit(page, phone.wrong());
  await page.getByRole('alert').waitFor();
  const described = await page.evaluate('document.activeElement.getAttribute("aria-describedby")');
  expect(described).toContain('second-step-error');
  await typeToTheLastDigit(page, phone.code());
  await page.getByRole('button', { name: 'Allow', exact: true }).waitFor();
  await tabTo(page, 'Allow');
  await page.keyboard.press('Enter');
  expect((await atTheApp(page)).get('code')).not.toBeNull();
});
