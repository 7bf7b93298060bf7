// The first five minutes in a real browser: the shipped configuration, the link that the start prints, the demo person.
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { launchChromium } from '../../world/chromium.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '../../world/servers.ts';
import { startProcess, type ServiceProcess } from '../../world/process.ts';
import { fillSignIn } from '../../world/visitors.ts';
import { postern } from '../../world/terminal.ts';
import { tempFolder } from '../../world/temp-folder.ts';

describe('the shipped configuration in a browser', () => {
  const folder = tempFolder();
  let service: ServiceProcess;
  let browser: Browser;
  let page: Page;
  let tryLink: string;
  const faults: string[] = [];
  beforeAll(async () => {
    const [port, management] = [await freePort(), await freePort()];
    // The shipped file on other ports and with a data folder of its own; nothing else is changed.
    const shipped = await readFile('config/postern.yaml', 'utf8');
    const moved = shipped
      .replaceAll(/(localhost:|port: )3000/g, `$1${port}`)
      .replaceAll(/(localhost:|port: )3001/g, `$1${management}`);
    await writeFile(path.join(folder, 'postern.yaml'), moved.replace('lmdb:../data', 'lmdb:data'));
    await copyFile('config/users.yaml', path.join(folder, 'users.yaml'));
    service = await startProcess(path.join(folder, 'postern.yaml'));
    tryLink = /try it +(\S+)/.exec(service.stdout())?.[1] ?? '';
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
    // Who to sign in as stands on the page.
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
    // One tab at a time, also by the keyboard.
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

  it('signs in the person of a configuration that `postern init` made, with the password that it printed', async () => {
    const made = path.join(folder, 'made');
    const [port, management] = [await freePort(), await freePort()];
    const issuer = `http://localhost:${port}`;
    const { stdout: password, stderr } = await postern(['init', made, '--issuer', issuer]);
    expect(stderr).toContain('Then open http://localhost:3001/try and sign in as alice.');
    for (const name of ['config/postern.yaml', 'config/clients.d/demo.yaml']) {
      const text = await readFile(path.join(made, name), 'utf8');
      await writeFile(path.join(made, name), text.replaceAll('3001', String(management)));
    }
    const own = await startProcess(path.join(made, 'config/postern.yaml'));
    try {
      expect(own.stdout()).toContain(`try it       http://localhost:${management}/try`);
      await page.goto(issuer);
      await page.getByRole('link', { name: 'Try it' }).click();
      // Nobody here has the public password.
      expect(await page.locator('main').innerText()).not.toContain('with the password');
      await page.getByRole('link', { name: 'Sign in' }).click();
      await fillSignIn(page, 'alice', password.trim());
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
    const issuer = new URL(/issuer +(\S+)/.exec(service.stdout())?.[1] ?? '');
    await page.goto(issuer.href);
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
