// The first five minutes in a real browser: the shipped configuration, the link that the start prints, the demo user.
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { launchChromium } from '../../world/chromium.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '../../world/servers.ts';
import { startProcess, type ServiceProcess } from '../../world/process.ts';
import { fillSignIn } from '../../world/visitors.ts';
import { postern } from '../../world/terminal.ts';
import { tempFolder, testFolder } from '../../world/temp-folder.ts';

/** Starts the shipped file on other ports and with a separate data folder, and changes nothing else. */
async function startShipped(folder: string, users: string): Promise<ServiceProcess> {
  const [port, management] = [await freePort(), await freePort()];
  const shipped = await readFile('config/postern.yaml', 'utf8');
  const moved = shipped
    .replaceAll(/(localhost:|port: )3000/g, `$1${port}`)
    .replaceAll(/(localhost:|port: )3001/g, `$1${management}`);
  await writeFile(path.join(folder, 'postern.yaml'), moved.replace('lmdb:../data', 'lmdb:data'));
  await writeFile(path.join(folder, 'users.yaml'), users);
  return startProcess(path.join(folder, 'postern.yaml'));
}

const linkOf = (service: ServiceProcess, name: string) =>
  new RegExp(`${name} +(\\S+)`).exec(service.stdout())?.[1] ?? '';

describe('the shipped configuration in a browser', () => {
  const folder = tempFolder();
  let service: ServiceProcess;
  let browser: Browser;
  let page: Page;
  let tryLink: string;
  const faults: string[] = [];
  beforeAll(async () => {
    service = await startShipped(folder, await readFile('config/users.yaml', 'utf8'));
    tryLink = linkOf(service, 'try it');
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser.close();
    await service.end();
  });
  beforeEach(async () => {
    faults.length = 0;
    const context = await browser.newContext({ javaScriptEnabled: true });
    page = await context.newPage();
    page.on('console', (message) => {
      if (message.type() === 'error') faults.push(message.text());
    });
  });

  async function signIn(): Promise<void> {
    await page.goto(tryLink);
    // The page names the demo user.
    const person = page.locator('p', { hasText: 'with the password' }).locator('strong');
    const [username = '', password = ''] = await person.allInnerTexts();
    await page.getByRole('link', { name: 'Sign in' }).click();
    await fillSignIn(page, username, password);
  }

  it('LG-17: signs the demo person in from the printed link to the tokens, and no policy of ours is in the way', async () => {
    await signIn();
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await page.getByRole('heading', { name: 'It works' }).waitFor();
    const text = await page.locator('main').textContent();
    expect(text).toContain('"preferred_username": "demo"');
    expect(text).toContain('"refresh_token"');
    expect(text).toContain('"aud": "demo"');
    expect(text).toContain('"typ": "at+jwt"');
    expect(text).toMatch(/"kid": ".+"/);
    expect(text).toContain('“Your first app in five minutes” in README.md');
    expect(text).toMatch(/"exp": \d+,? 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC\n/);
    // One tab is shown at a time, also with the keyboard.
    const shown = () => page.locator('.json:visible').innerText();
    expect(await shown()).toContain('"nonce"');
    await page.getByText('Token response', { exact: true }).click();
    expect(await shown()).toContain('"refresh_token"');
    await page.keyboard.press('ArrowLeft');
    expect(await shown()).toContain('"preferred_username"');
    const copy = page.getByRole('button', { name: 'Copy', exact: true });
    expect(await copy.count()).toBe(1);
    expect(JSON.parse((await copy.getAttribute('data-copies')) ?? '')).toMatchObject({
      preferred_username: 'demo',
    });
    expect(faults).toEqual([]);
  });

  it('signs in a person whose password is not the public one', async () => {
    const password = 'river otter jazz 47';
    const { stdout } = await postern(['user', 'hash', '-u', 'alice'], password);
    const own = await startShipped(testFolder(), stdout);
    try {
      await page.goto(linkOf(own, 'issuer'));
      await page.getByRole('link', { name: 'Try it' }).click();
      expect(await page.locator('main').innerText()).not.toContain('with the password');
      await page.getByRole('link', { name: 'Sign in' }).click();
      await fillSignIn(page, 'alice', password);
      await page.getByRole('button', { name: 'Allow', exact: true }).click();
      await page.getByRole('heading', { name: 'It works' }).waitFor();
      const text = await page.locator('main').textContent();
      expect(text).toContain('"preferred_username": "alice"');
      expect(text).toContain('"refresh_token"');
      expect(faults).toEqual([]);
    } finally {
      await own.end();
    }
  });

  it('begins at the issuer itself', async () => {
    await page.goto(linkOf(service, 'issuer'));
    await page.getByRole('link', { name: 'Try it' }).click();
    expect(page.url()).toBe(tryLink);
    expect(faults).toEqual([]);
  });

  it('goes back to the app with access_denied when the person declines', async () => {
    await signIn();
    await page.getByRole('button', { name: /don.t allow/i }).click();
    await page.getByText('access_denied').waitFor();
    expect(page.url().startsWith(tryLink)).toBe(true);
  });
});
