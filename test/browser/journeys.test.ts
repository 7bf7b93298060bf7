// Complete flows through the pages in a real browser: with JavaScript off, with the keyboard only, with the back button and
// a second tab, and with several tabs opened at once.
import path from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { reopenChromium } from '../world/chromium.ts';
import { describe, expect, it } from 'vitest';
import { authorizationUrl } from '../world/authorization-request.ts';
import { atTheApp, press, fillSignIn, useVisitors, type Visitors } from '../world/visitors.ts';
import { GENEROUS, PASSWORDS, worldClients } from '../world/world.ts';
import { typeIn } from './keyboard.ts';
import { tempFolder } from '../world/temp-folder.ts';

const folder = tempFolder();
let place: Visitors;
useVisitors(
  (home) => {
    const uris = { client_uri: home, redirect_uris: [`${home}cb`] };
    const clients = worldClients({ web: uris, 'first-party': uris });
    return { config: { ...GENEROUS, clients, views: path.join(folder, 'views') } };
  },
  (begun) => (place = begun),
);

function urlAtHome(parameters: Readonly<Record<string, string>> = {}): string {
  return authorizationUrl(place.world, { redirect_uri: `${place.home}cb`, ...parameters });
}

async function headingOf(page: Page): Promise<string> {
  return page.getByRole('heading', { level: 1 }).innerText();
}

describe('by mouse', () => {
  it.each([
    ['with JavaScript', true],
    ['with JavaScript off', false],
  ])('LG-17: a user mistypes, signs in, allows and signs out, %s', async (_, javaScriptEnabled) => {
    const page = await place.visit({ javaScriptEnabled });
    await page.goto(urlAtHome());
    await fillSignIn(page, 'alice', 'wrong');
    expect(await page.getByRole('alert').innerText()).toContain('Incorrect username or password.');
    expect(await page.getByLabel('Username').inputValue()).toBe('alice');
    await page.getByLabel('Password', { exact: true }).fill(PASSWORDS.alice);
    await press(page, 'Sign in');
    expect(await headingOf(page)).toBe('Web app wants access to your account');
    await press(page, 'Allow');
    expect((await atTheApp(page)).get('code')).not.toBeNull();

    await page.goto(`${place.world.issuer}/oauth/logout`);
    await press(page, 'Sign out');
    expect(await headingOf(page)).toBe('You’re signed out');
    await page.goto(`${place.world.issuer}/oauth/logout`);
    expect(await headingOf(page)).toBe('You’re already signed out');
    expect(await page.getByRole('button').count()).toBe(0);
  });

  it('the back button leads to a page that explains', async () => {
    const page = await place.visit();
    await page.goto(urlAtHome());
    await fillSignIn(page, 'alice');
    await press(page, 'Don’t allow');
    expect((await atTheApp(page)).get('error')).toBe('access_denied');
    await page.goBack();
    expect(await headingOf(page)).toBe('This page has expired');
  });
});

it('the keyboard alone goes from the app through sign-in and consent and back, and sees the focus all the way', async () => {
  const page = await place.visit();
  await page.goto(urlAtHome());
  await typeIn(page, 'alice');
  await page.keyboard.press('Tab');
  await typeIn(page, 'wrong');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').waitFor();
  // The field for the next attempt, which the error describes.
  expect(await page.evaluate('document.activeElement.id')).toBe('password');
  expect(await page.evaluate('document.activeElement.getAttribute("aria-describedby")')).toContain(
    'sign-in-error',
  );
  await typeIn(page, PASSWORDS.alice);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Allow', exact: true }).waitFor();
  const seen: unknown[] = [];
  for (let step = 0; step < 3; step += 1) {
    await page.keyboard.press('Tab');
    seen.push(await page.evaluate('document.activeElement.textContent.trim()'));
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
  }
  expect(seen).toEqual(['Use another account', 'Allow', 'Don’t allow']);
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Enter');
  expect((await atTheApp(page)).get('code')).not.toBeNull();
});

/** Signs in and gives the consent that is still missing. */
async function comeToTheApp(page: Page): Promise<string | null> {
  await fillSignIn(page, 'alice');
  const allow = page.getByRole('button', { name: 'Allow', exact: true });
  await allow.or(page.getByRole('heading', { name: 'The app' })).waitFor();
  if (await allow.isVisible()) await allow.click();
  return (await atTheApp(page)).get('code');
}

const ownCookies = async (context: BrowserContext) =>
  (await context.cookies(place.world.issuer)).filter(({ name }) => name.startsWith('postern_browser'));

describe('tabs that are opened together', () => {
  it.each([2, 5, 12])('F1-03: %d in a new browser: the newest ten come to the app', async (count) => {
    const context = (await place.visit()).context();
    const tabs = await Promise.all(Array.from({ length: count }, () => context.newPage()));
    await Promise.all(
      tabs.map(async (tab, index) => {
        await tab.waitForTimeout((index * 170) % 401);
        // This client asks its users for no consent.
        await tab.goto(urlAtHome({ client_id: 'first-party' }));
      }),
    );
    expect(await ownCookies(context)).toHaveLength(Math.min(count, 10));
    const over: Page[] = [];
    for (const tab of tabs) {
      // A page whose sign-in was displaced later says so when it is submitted or reloaded.
      await tab.reload();
      if ((await headingOf(tab)) === 'Sign in') expect(await comeToTheApp(tab)).not.toBeNull();
      else over.push(tab);
    }
    expect(over).toHaveLength(Math.max(count - 10, 0));
    for (const tab of over) {
      expect(await headingOf(tab)).toBe('This page has expired');
      expect(await tab.locator('main').innerText()).toContain('this browser had more than ten sign-ins open');
    }
    expect(await ownCookies(context)).toEqual([]);
    await context.close();
  });

  it('F1-03: tabs that a browser restores when it starts go on', async () => {
    const profile = path.join(folder, 'profile');
    const before = await reopenChromium(profile);
    const urls: string[] = [];
    for (const tab of [await before.newPage(), await before.newPage()]) {
      await tab.goto(urlAtHome());
      urls.push(tab.url());
    }
    await before.close();
    const after = await reopenChromium(profile);
    // One of the tabs starts again, like an app that is restored.
    const tabs = await Promise.all(Array.from({ length: 3 }, () => after.newPage()));
    await Promise.all(tabs.map((tab, index) => tab.goto(urls[index] ?? urlAtHome())));
    for (const tab of tabs) expect(await comeToTheApp(tab)).not.toBeNull();
    expect(await ownCookies(after)).toEqual([]);
    await after.close();
  });
});

it('a double click signs in once, and is no error', async () => {
  const page = await place.visit();
  await page.goto(urlAtHome());
  await page.getByLabel('Username').fill('alice');
  await page.getByLabel('Password', { exact: true }).fill(PASSWORDS.alice);
  await page.getByRole('button', { name: 'Sign in' }).dblclick();
  await page.getByRole('button', { name: 'Allow', exact: true }).dblclick();
  expect((await atTheApp(page)).get('code')).not.toBeNull();
});
