// The built-in pages in a real browser: accessibility, reflow and the content security policy. Owns the look of pages
// with sample models; the journeys through them are tested elsewhere.
import { createServer } from 'node:http';
import path from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import { chromium } from 'playwright-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createAssets } from '../../src/pages/assets.ts';
import { createPages } from '../../src/pages/pages.ts';
import { PAGE_STATES } from '../unit/pages/page-states.ts';

const builtInFolder = path.resolve(import.meta.dirname, '../../views');
const CSP =
  "default-src 'none'; style-src 'self'; img-src 'self' https: data:; base-uri 'none'; frame-ancestors 'none'";
const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
// Ours, one that is almost the light card, one that is almost the dark card, and one that is hard for both.
const COLORS = ['', '#fff04d', '#141a26', '#777777'];

function onProblem({ message }: { message: string }): never {
  throw new Error(message);
}

const sites = COLORS.map((color) => {
  const branding = { name: 'Acme ID', color: color || undefined };
  const assets = createAssets({ builtInFolder, branding });
  const assetUrl = (name: string) => `/${COLORS.indexOf(color)}/${assets.url(name)}`;
  return { assets, pages: createPages({ builtInFolder, branding, assetUrl, onProblem }) };
});

// /<index of colour>/assets/… or /<index of colour>/<index of state>
const server = createServer((request, response) => {
  const [, color = '', ...rest] = (request.url ?? '').split('/');
  const site = sites[Number(color)];
  const state = PAGE_STATES[Number(rest[0])];
  const asset = site?.assets.find(rest.join('/'));
  response.setHeader('Content-Security-Policy', CSP);
  if (asset) {
    response.setHeader('Content-Type', asset.type).end(asset.body);
  } else if (site && state) {
    const html = site.pages.render(state.name, state.model, { locale: 'en' });
    response.setHeader('Content-Type', 'text/html; charset=utf-8').end(html);
  } else {
    response.writeHead(404).end();
  }
});

let browser: Browser;
// axe is a script in the page, which the CSP would rightly stop, so it has a page that ignores the CSP.
let measured: Page;
// As a person has it who blocks scripts.
let scriptless: Page;
let complaints: string[] = [];

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('no port');
  const baseURL = `http://127.0.0.1:${address.port}`;
  browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  });
  measured = await (await browser.newContext({ baseURL, bypassCSP: true })).newPage();
  scriptless = await (await browser.newContext({ baseURL, javaScriptEnabled: false })).newPage();
  for (const page of [measured, scriptless]) {
    page.on('console', (message) => complaints.push(message.text()));
    page.on('requestfailed', (request) => complaints.push(`failed: ${request.url()}`));
  }
});

beforeEach(async () => {
  complaints = [];
  await measured.setViewportSize({ width: 1280, height: 800 });
  await measured.emulateMedia({ colorScheme: 'light' });
});

afterEach(() => {
  expect(complaints).toEqual([]);
});

afterAll(async () => {
  await browser?.close();
  await new Promise((resolve) => server.close(resolve));
});

/** All rules of WCAG 2.2 AA that axe knows, or those that are named. */
async function axeViolations(...rules: string[]): Promise<string[]> {
  const builder = new AxeBuilder({ page: measured });
  const { violations, incomplete } = await (
    rules.length > 0 ? builder.withRules(rules) : builder.withTags(WCAG)
  ).analyze();
  // A contrast that axe can't tell counts as well: our pages have no image behind text.
  const unsure = incomplete.filter(({ id }) => id === 'color-contrast');
  return [...violations, ...unsure].flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html}`));
}

function indexOf(title: string): number {
  return PAGE_STATES.findIndex((state) => state.title === title);
}

describe.each(PAGE_STATES.map(({ title }, index) => ({ title, index })))('$title', ({ index }) => {
  it('passes WCAG 2.2 AA as axe sees it, light and dark, and at 320 px without sideways scrolling', async () => {
    await measured.goto(`/0/${index}`);
    expect(await axeViolations()).toEqual([]);

    await measured.emulateMedia({ colorScheme: 'dark' });
    expect(await measured.evaluate('getComputedStyle(document.body).backgroundColor')).toBe(
      'rgb(14, 19, 27)',
    );
    expect(await axeViolations('color-contrast', 'link-in-text-block')).toEqual([]);

    // Also what is left of 1280 px at a zoom of 400 %.
    await measured.setViewportSize({ width: 320, height: 256 });
    expect(await measured.evaluate('document.documentElement.scrollWidth')).toBe(320);
    expect(await axeViolations('color-contrast', 'target-size')).toEqual([]);
  });

  it('loads under the content security policy and without JavaScript', async () => {
    await scriptless.goto(`/0/${index}`);
    // Only the stylesheet gives the card its width.
    expect((await scriptless.locator('main').boundingBox())?.width).toBe(416);
  });
});

describe("an operator's colour", () => {
  it.each(COLORS.slice(1))('%s keeps contrast, light and dark, also when pointed at', async (color) => {
    await measured.goto(`/${COLORS.indexOf(color)}/${indexOf('login')}`);
    const [red, green, blue] = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
    expect(
      await measured.evaluate("getComputedStyle(document.querySelector('.primary')).backgroundColor"),
    ).toBe(`rgb(${red}, ${green}, ${blue})`);

    for (const colorScheme of ['light', 'dark'] as const) {
      await measured.emulateMedia({ colorScheme });
      await measured.mouse.move(0, 0);
      expect(await axeViolations('color-contrast')).toEqual([]);
      await measured.getByRole('button', { name: 'Sign in' }).hover();
      expect(await axeViolations('color-contrast')).toEqual([]);
    }
  });
});

describe('the keyboard', () => {
  const focused = 'document.activeElement.id || document.activeElement.textContent.trim()';

  it('starts in the username, goes on in the order of the page, and shows where it is', async () => {
    await measured.goto(`/0/${indexOf('login')}`);
    const seen: unknown[] = [];
    for (let step = 0; step < 4; step += 1) {
      seen.push(await measured.evaluate(focused));
      expect(await measured.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
      await measured.keyboard.press('Tab');
    }
    expect(seen).toEqual(['username', 'password', 'Sign in', 'Cancel']);
  });

  it('starts in the password when the username is known', async () => {
    await measured.goto(`/0/${indexOf('login invalid_credentials')}`);
    expect(await measured.evaluate(focused)).toBe('password');
  });
});
