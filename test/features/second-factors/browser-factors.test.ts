// From an operator's link to a person's own page for factors, as a person walks it in a real browser.
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

/** What an operator hands out for a first factor. */
const linkOf = async () =>
  oneTimeLinkUrl(place.world.issuer, await newLink(place.world, 'factors', PEOPLE.alice));

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
    const page = await visitWithKeys(await linkOf(), javaScriptEnabled);
    await heading(page, 'Add a second step');
    const code = await appWith(page);
    await page.getByLabel('Code from your authenticator app').fill('12');
    await press(page, 'Add the app');
    expect(await page.getByRole('alert').innerText()).toContain('That code isn’t right.');
    await page.getByLabel('Code from your authenticator app').fill(code());
    await press(page, 'Add the app');
    await heading(page, 'Second step added');
    await page.getByRole('link', { name: 'Get recovery codes' }).click();
    await fillSignIn(page);
    await heading(page, 'One more step');
    await page.getByLabel('Code from your authenticator app').fill(code(1));
    if (!javaScriptEnabled) await press(page, 'Sign in');
    await heading(page, 'Please read this');
    await press(page, 'Continue');
    await heading(page, 'Passkeys and codes');
    expect(await page.locator('.qr').count()).toBe(0);
    await press(page, 'Make new recovery codes');
    await heading(page, 'Your recovery codes');
    expect(await page.locator('.codes li').count()).toBe(10);
    await page.getByRole('link', { name: 'I’ve kept them' }).click();
    expect(await page.getByText('Left: 10').isVisible()).toBe(true);
    await page.getByRole('link', { name: 'Replace Authenticator app' }).click();
    await heading(page, 'Replace your authenticator app');
    expect(await page.locator('.qr').count()).toBe(1);
    await page.getByRole('link', { name: 'Passkeys and codes' }).click();
    await press(page, 'Remove Authenticator app');
    await page.getByText('You sign in with your password alone.').waitFor();
  });
});

describe('a passkey', () => {
  it('is added by a link, named, and is then a whole sign-in', async () => {
    const page = await visitWithKeys(await linkOf());
    await page.getByLabel('Name (optional)').fill('  Laptop at home ');
    await press(page, 'Add a passkey');
    await heading(page, 'Second step added');
    await page.getByRole('link', { name: 'Get recovery codes' }).click();
    // The browser offers it in the field of the username.
    await press(page, 'Continue');
    await heading(page, 'Passkeys and codes');
    expect((await listed(page)).join()).toContain('Laptop at home');
  });
});

describe('the keyboard alone', () => {
  it('makes recovery codes, and reads why what an app needs is not removed', async () => {
    const key = await givePasskey(place.world);
    const page = await visitWithKeys(`${place.world.issuer}/account/factors`, true, [key]);
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
