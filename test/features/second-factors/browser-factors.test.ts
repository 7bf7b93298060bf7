// From an administrator's link to the user's page for factors, in a real browser.
import { Secret, TOTP } from 'otpauth';
import type { Page } from 'playwright-core';
import { beforeEach, describe, expect, it } from 'vitest';
import { oneTimeLinkUrl } from '../../../src/users/one-time-links.ts';
import { CODE_PERIOD, givePasskey, setFactors, type SoftwareKey } from '../../world/second-factors.ts';
import {
  heading,
  plugIn,
  press,
  fillSignIn,
  useVisitors,
  type Visitors,
  withPasskeys,
} from '../../world/visitors.ts';
import { PEOPLE } from '../../world/world.ts';
import { newLink } from '../../world/one-time-link.ts';
import { tabTo } from '../../browser/keyboard.ts';

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
