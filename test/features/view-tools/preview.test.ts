// `postern views preview`, as a separate process: over HTTP, and in a browser.
import type { Browser } from 'playwright-core';
import path from 'node:path';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BUILT_IN_FOLDER, listViewFiles } from '../../../src/views/view-files.ts';
import { PAGE_STATES } from '../../../src/features/view-tools/page-samples.ts';
import { axeFaults } from '../../browser/axe.ts';
import { launchChromium } from '../../world/chromium.ts';
import { COMPILED, MAIN, runCli, type ServiceProcess, startUntil } from '../../world/process.ts';
import { raw } from '../../world/raw.ts';
import { putFile, tempFolder } from '../../world/temp-folder.ts';

describe('postern views preview', () => {
  const folder = tempFolder();
  const config = path.join(folder, 'postern.json');
  let preview: ServiceProcess;
  let base: string;

  const put = (name: string, text: string) => putFile(path.join(folder, 'views', name), text);
  const get = (target: string) => fetch(`${base}${target}`);
  const textOf = async (target: string) => (await get(target)).text();

  beforeAll(async () => {
    putFile(
      config,
      JSON.stringify({ issuer: 'http://localhost:3000', views: 'views', branding: { name: 'Acme ID' } }),
    );
    put('logout.ejs', '<title>Our own</title><%= model.action %>');
    const command = [process.execPath, MAIN, 'views', 'preview', '--config', config, '--port', '0'];
    preview = await startUntil('Press Ctrl-C to stop.', command, { env: COMPILED });
    base = /http:\S+/.exec(preview.stdout())?.[0] ?? '';
  });
  afterAll(() => preview.end());

  const framesOf = (html: string) => [...html.matchAll(/<iframe src="([^"]+)"/g)].map(([, src]) => src ?? '');

  it('shows the usual state of every page, light and dark, narrow and wide', async () => {
    const html = await textOf('/');
    const frames = framesOf(html);
    const pages = new Set(PAGE_STATES.map(({ name }) => name));
    expect(frames).toHaveLength(4 * pages.size);
    for (const page of pages) {
      expect(frames.filter((src) => src.startsWith(`/dark/page/${page}/`))).toHaveLength(2);
      expect(html).toContain(`<option>${page}</option>`);
    }
  });

  it('shows what the address chooses, each state at an address of its own', async () => {
    const frames = framesOf(await textOf('/?page=all&lang=de&scheme=light&width=800'));
    expect(new Set(frames).size).toBe(PAGE_STATES.length);
    expect(frames).toContain('/light/page/login/invalid_credentials?lang=de');
    const ofLogin = framesOf(await textOf('/?page=login&lang=de&lang=ja'));
    expect(ofLogin).toHaveLength(8 * PAGE_STATES.filter(({ name }) => name === 'login').length);
    for (const src of frames) expect((await get(src)).status, src).toBe(200);
  });

  it("renders pages with the operator's views and the policy of the service, for a frame here", async () => {
    expect(await textOf('/page/logout/usual')).toBe('<title>Our own</title>https://id.example/action');
    const page = await get('/page/login/usual?lang=de');
    expect(await page.text()).toContain('<title>Anmelden · Acme ID</title>');
    const policy = page.headers.get('content-security-policy');
    expect(policy).toContain(
      "default-src 'none'; style-src 'self'; img-src 'self' https: data: http://localhost:*",
    );
    expect(policy).toContain("frame-ancestors 'self'; form-action 'none'");
    const index = await get('/');
    expect(index.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  });

  it('answers style sheets that ask for the scheme', async () => {
    const dark = await textOf('/dark/assets/style.css');
    expect(dark).toContain('@media (min-width: 0) {');
    expect(dark).toContain('color-scheme: dark;');
    expect(await textOf('/light/assets/style.css')).toContain('@media (max-width: 0) {');
    expect(await textOf('/assets/style.css')).toBe(readFileSync('views/assets/style.css', 'utf8'));
    expect(await textOf('/dark/page/login/usual')).toContain('<meta name="color-scheme" content="dark">');
  });

  it('tells browsers of a change, and shows it', async () => {
    const events = await get('/events');
    expect(events.headers.get('content-type')).toBe('text/event-stream');
    const reader = events.body?.pipeThrough(new TextDecoderStream()).getReader();
    put('logout.ejs', 'Changed');
    let told = '';
    while (!told.includes('data: changed')) told += (await reader?.read())?.value ?? '';
    expect(await textOf('/page/logout/usual')).toBe('Changed');
    await reader?.cancel();
  });

  it('shows file and line of a template that fails, and all other pages', async () => {
    put('consent.ejs', '<p>\n<% const = 1 %>\n</p>');
    put('home.ejs', '<p>\n<%= modle.x %>\n');
    put('partials/help.ejs', '\n<% if ( %>');
    put('locales/de.json', '{');
    const broken = await get('/page/consent/usual');
    expect(broken.status).toBe(500);
    expect(await broken.text()).toMatch(/views\/consent\.ejs\n\nSyntaxError: .*\(line 2\)/);
    for (const state of ['usual', 'minimal'])
      expect(await textOf(`/page/home/${state}`)).toMatch(/home\.ejs:2[^]*modle is not defined/);
    expect((await get('/page/login/usual?lang=de')).status).toBe(200);
    const index = await textOf('/');
    for (const name of ['consent.ejs', 'partials/help.ejs', 'locales/de.json'])
      expect(index).toContain(`<strong>${path.join(folder, 'views', name)}</strong>`);
  });

  it('refuses other host names, and has nothing but views', async () => {
    for (const target of ['/', '/page/login/usual', '/events'])
      expect(await raw(base, { target, headers: { host: 'evil.example' } })).toMatchObject({ status: 421 });
    const { port } = new URL(base);
    expect(await raw(base, { target: '/', headers: { host: `localhost:${port}` } })).toMatchObject({
      status: 200,
    });
    for (const target of [
      '/page/login/x',
      '/assets/../package.json',
      '/assets/%2e%2e/login.ejs',
      '/index.ejs',
    ])
      expect((await raw(base, { target, headers: { host: 'localhost' } })).status, target).toBe(404);
  });

  it('says that a port is in use, and ends with Ctrl-C', async () => {
    const { port } = new URL(base);
    expect(await runCli(['views', 'preview', '--config', config, '--port', port])).toMatchObject({
      code: 1,
      stderr: `can't listen on port ${port}: choose another one with --port\n`,
    });
    const events = await get('/events');
    expect(await preview.end('SIGINT')).toMatchObject({ code: 0, stderr: '' });
    await events.body?.cancel().catch(() => undefined);
  });
});

describe('the preview in a browser', () => {
  const folder = tempFolder();
  let preview: ServiceProcess;
  let browser: Browser;
  beforeAll(async () => {
    const config = path.join(folder, 'postern.json');
    putFile(config, JSON.stringify({ issuer: 'http://localhost:3000', views: 'views' }));
    const command = [process.execPath, MAIN, 'views', 'preview', '--config', config, '--port', '0'];
    preview = await startUntil('Press Ctrl-C to stop.', command, { env: COMPILED });
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser.close();
    await preview.end();
  });

  it('has frames in their scheme and whole height, keeps its place, and follows a change', async () => {
    const page = await browser.newPage({ bypassCSP: false });
    const faults: string[] = [];
    page.on('console', (message) => faults.push(message.text()));
    await page.goto(`${/http:\S+/.exec(preview.stdout())?.[0]}/?page=account&width=320`);
    const frameAt = (index: number) => page.frameLocator('iframe').nth(index).locator('body');
    const groundOf = async (index: number) =>
      frameAt(index).evaluate('getComputedStyle(document.body).backgroundColor');
    expect(await groundOf(0)).not.toBe(await groundOf(1));
    const isWhole = `[...document.querySelectorAll('iframe')].slice(0, 2).every(
      ({ clientHeight, contentDocument: { documentElement } }) => clientHeight >= documentElement.scrollHeight)`;
    await page.waitForFunction(isWhole);
    expect(await page.evaluate('[scrollY, document.activeElement.localName]')).toEqual([0, 'h1']);
    putFile(path.join(folder, 'views/account.ejs'), '<h1>New words');
    await frameAt(1).getByText('New words').waitFor();
    expect(faults).toEqual([]);
    await page.close();
  });

  it('has no fault that axe knows', async () => {
    const page = await browser.newPage({ bypassCSP: true });
    await page.goto(`${/http:\S+/.exec(preview.stdout())?.[0]}/?page=error`);
    // The tests of the pages cover the content of the frames.
    await page.evaluate("for (const frame of document.querySelectorAll('iframe')) frame.src = 'about:blank'");
    expect(await axeFaults(page)).toEqual([]);
  });
});

it('what shows the preview is no view', () => {
  expect([...listViewFiles(BUILT_IN_FOLDER).keys()].filter((name) => /preview|index/.test(name))).toEqual([]);
});
