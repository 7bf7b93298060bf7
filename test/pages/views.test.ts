// The operator's folder of views on a running service, and the command line that goes with it.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Page } from '../world/browser.ts';
import { begin, newBrowser, signInAs, titleOf } from '../world/person.ts';
import { get } from '../world/requests.ts';
import { type OpenWorld, PASSWORDS, startWorld } from '../world/world.ts';
import { postern } from '../world/terminal.ts';

let folder: string;

function put(name: string, text: string): void {
  const file = path.join(folder, 'views', name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

async function until<T>(ask: () => Promise<T>, isRight: (answer: T) => boolean): Promise<T> {
  for (const end = Date.now() + 60_000; ; await new Promise((resolve) => setTimeout(resolve, 50))) {
    const answer = await ask();
    if (isRight(answer) || Date.now() > end) return answer;
  }
}

describe('a folder of views, while the service runs', () => {
  let world: OpenWorld;
  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'postern-live-views-'));
    world = await startWorld({
      config: {
        views: path.join(folder, 'views'),
        branding: {
          name: 'Acme ID',
          color: '#0b6e4f',
          logo: 'logo.svg',
          privacy_uri: 'https://acme.example/privacy',
          terms_uri: 'https://acme.example/terms',
          imprint_uri: 'https://acme.example/imprint',
          support_uri: 'mailto:help@acme.example',
        },
      },
    });
  });
  afterAll(async () => {
    await world.stop();
    rmSync(folder, { recursive: true });
  });

  const openLogin = async (): Promise<Page> => (await begin(world)).page;

  it('need not exist at the start; then its files win one by one, and their end is the built-in page', async () => {
    expect(titleOf(await openLogin())).toBe('Sign in');
    put('locales/en.json', '{"login.title": "Welcome"}');
    expect(titleOf(await until(openLogin, (page) => titleOf(page) === 'Welcome'))).toBe('Welcome');
    put('partials/foot.ejs', '<p>Our own foot</p></main></body></html>');
    const page = await until(openLogin, ({ text }) => text.includes('Our own foot'));
    expect(page.text).toContain('Our own foot');
    expect(titleOf(page)).toBe('Welcome');
    rmSync(path.join(folder, 'views/partials'), { recursive: true });
    expect((await until(openLogin, ({ text }) => !text.includes('Our own foot'))).text).not.toContain(
      'Our own foot',
    );
  });

  it('shows the built-in page in the place of a broken one: no blank page, no 500, and one line in the log', async () => {
    put(
      'login.ejs',
      '<h1>Ours</h1><%- include("partials/sentence", { key: "login.lead", values: { client: "x" } }) %>',
    );
    expect(titleOf(await until(openLogin, (page) => titleOf(page) === 'Ours'))).toBe('Ours');
    for (const broken of ['<% if (', '<%= nope %>', '<%- include("nothing") %>']) {
      world.recorded.log.length = 0;
      put('login.ejs', broken);
      await until(
        () => Promise.resolve(world.recorded.log.join('')),
        (text) => text.includes('views were read again'),
      );
      const page = await openLogin();
      expect([page.status, titleOf(page)], broken).toEqual([200, 'Welcome']);
      expect(world.recorded.log.filter((line) => line.includes('login.ejs'))).toHaveLength(1);
    }
    rmSync(path.join(folder, 'views/login.ejs'));
  });

  it('serves its assets under names that change with them, branding.css last, and old names for open pages', async () => {
    put('assets/branding.css', 'body { color: red }');
    put('assets/logo.svg', '<svg xmlns="http://www.w3.org/2000/svg"/>');
    const page = await until(openLogin, ({ text }) => text.includes('branding.'));
    const sheets = [...page.text.matchAll(/rel="stylesheet" href="([^"]+)"/g)].map(([, href = '']) => href);
    expect(sheets.map((href) => /\/(\w+)\./.exec(href.slice(world.issuer.length))?.[1])).toEqual([
      'style',
      'colors',
      'branding',
    ]);
    const path1 = (sheets[2] ?? '').slice(world.issuer.length);
    expect(await get(world, path1)).toMatchObject({ status: 200, text: 'body { color: red }' });
    expect((await get(world, path1)).headers.get('cache-control')).toContain('immutable');
    put('assets/branding.css', 'body { color: blue }');
    const next = await until(openLogin, ({ text }) => !text.includes(path1));
    const path2 = /assets\/branding\.\w+\.css/.exec(next.text)?.[0] ?? '';
    expect((await get(world, `/${path2}`)).text).toBe('body { color: blue }');
    expect((await get(world, path1)).text).toBe('body { color: blue }');
  });

  it('is branded by the configuration alone', async () => {
    const { text } = await until(openLogin, (page) => page.text.includes('logo.'));
    expect(text).toContain('<title>Welcome · Acme ID</title>');
    expect(text).toMatch(/<img class="brand-logo" src="[^"]+\/assets\/logo\.\w+\.svg" alt="">/);
    for (const [name, words] of Object.entries({
      privacy: 'Privacy',
      terms: 'Terms',
      imprint: 'Legal notice',
    }))
      expect(text).toContain(`<a href="https://acme.example/${name}" rel="noreferrer">${words}</a>`);
    const help = '<a href="mailto:help@acme.example" rel="noreferrer">Need help?</a>';
    expect(text).toContain(help);
    const error = (await newBrowser(world).open(`${world.issuer}/nothing`)).text;
    expect(error.split(help)).toHaveLength(2);
  });

  it("LO-10, LO-13: the pages of a sign-out can't be framed, follow the issuer alone, and write no hint anywhere", async () => {
    world.recorded.log.length = 0;
    const { browser, page } = await begin(world);
    const consent = await signInAs(browser, page, 'alice');
    await browser.submit(consent, '/consent');
    const hint = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.canary';
    for (const one of [
      await browser.open(`${world.issuer}/oauth/logout`, { headers: { 'x-forwarded-host': 'evil.example' } }),
      await newBrowser(world).open(`${world.issuer}/oauth/logout`),
      await browser.open(`${world.issuer}/oauth/logout?id_token_hint=${hint}`),
    ]) {
      expect(one.headers.get('x-frame-options')).toBe('DENY');
      expect(one.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
      expect(one.headers.get('referrer-policy')).toBe('same-origin');
      expect(one.text).not.toMatch(/evil\.example|canary/);
      for (const [, action = ''] of one.text.matchAll(/<form[^>]*action="([^"]*)"/g))
        expect(action.startsWith(`${world.issuer}/`)).toBe(true);
    }
    expect(world.recorded.log.join('')).not.toContain('canary');
    expect(world.recorded.log.join('')).not.toContain(PASSWORDS.alice);
  });
});

describe('postern views', () => {
  let config: string;
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'postern-cli-views-'));
    config = path.join(folder, 'postern.json');
    writeFileSync(config, JSON.stringify({ issuer: 'http://localhost:3000', views: 'views' }));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const views = (...args: string[]) => postern(['views', ...args, '--config', config]);

  it('eject writes a view, once', async () => {
    expect(await views('eject', 'login')).toMatchObject({
      code: 0,
      stdout: `${path.join(folder, 'views/login.ejs')}\n`,
    });
    const text = readFileSync(path.join(folder, 'views/login.ejs'), 'utf8');
    expect(text).toBe(readFileSync('views/login.ejs', 'utf8'));
    expect((await views('eject', 'login')).code).toBe(1);
    expect((await views('eject', 'login', '--force')).code).toBe(0);
    expect((await views('eject', 'partials/head', '--stdout')).stdout).toContain('<!doctype html>');
  });

  it("eject knows the names, and says what it can't do", async () => {
    expect(await views('eject', 'logn')).toMatchObject({
      code: 1,
      stderr: 'there is no view "logn": did you mean login?\n',
    });
    expect((await views('eject', 'locales/de.json')).stderr).toContain('merged key by key');
    expect((await views('eject', '../../package.json')).code).toBe(1);
    expect((await views('eject')).code).toBe(2);
    expect((await views('ejct', 'login')).code).toBe(2);
  });

  it('check finds nothing wrong with the built-in views, whole and ejected', async () => {
    for (const name of ['login', 'factors', 'partials/head', 'assets/style.css', 'assets/icon.svg']) {
      expect((await views('eject', name)).code, name).toBe(0);
    }
    put('assets/branding.css', '');
    expect(await views('check')).toEqual({
      code: 0,
      stdout: `${path.join(folder, 'views')} is in order\n`,
      stderr: '',
    });
  });

  it('check says when the folder is not there, and when none is configured', async () => {
    expect(await views('check')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('does not exist'),
    });
    writeFileSync(config, JSON.stringify({ issuer: 'http://localhost:3000' }));
    expect(await views('check')).toMatchObject({ code: 0, stdout: expect.stringContaining('built-in') });
    expect((await views('eject', 'login')).stderr).toContain('set views: to one');
  });

  it.each([
    ['login.ejs', 'signin.ejs', '', 'used by no page'],
    ['an asset that is not served', 'assets/notes.txt', '', 'used by no page'],
    ['a broken template', 'login.ejs', '\n<% if ( %>', 'login.ejs SyntaxError: '],
    ['an unknown name', 'partials/foot.ejs', '<%= modle.x %>', 'modle is not defined'],
    ['an unknown field', 'logout.ejs', '<%= model.clientt %>', 'model.clientt is no field'],
    ['a field of a field', 'logout.ejs', '<%= model.client?.nam %>', 'model.client.nam is no field'],
    [
      'a missing partial',
      'login.ejs',
      '<%- include("partials/hed") %>',
      'There is no template partials/hed.ejs',
    ],
    ['a missing asset', 'login.ejs', '<%= asset("x.png") %>', 'There is no asset x.png'],
    ['raw output', 'login.ejs', '\n<%- model.username %>', 'login.ejs:2 prints without escaping'],
    ['a text that nobody has', 'login.ejs', '<%= t("login.titel") %>', 'There is no text login.titel'],
    [
      'a form without its token',
      'login.ejs',
      '<form method="post" action="x"></form>',
      'never prints csrf: its forms would be refused',
    ],
    ['a locale that is none', 'locales/de.json', '[]', 'must be one object'],
    ['an unknown text', 'locales/de.json', '{"login.titel": "x"}', 'login.titel is no text of any page'],
    ['an unknown value', 'locales/de.json', '{"login.lead": "{{app}}"}', 'and gets client'],
  ])('check finds %s', async (_, name, text, words) => {
    put(name, text);
    const { code, stderr } = await views('check');
    expect(stderr).toContain(words);
    expect(code).toBe(1);
    const { stdout } = await views('check', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, faults: expect.any(Array) });
  });

  it('check leaves alone what an operator may add', async () => {
    put('locales/es.json', '{"scope.reports.read": "Leer", "own.words": "Hola"}');
    put('partials/foot.ejs', `<%= t("own.words") %>${readFileSync('views/partials/foot.ejs', 'utf8')}`);
    put('locales/en.json', '{"own.words": "Hello"}');
    put('login.ejs', `<%- include('partials/mine') -%>${readFileSync('views/login.ejs', 'utf8')}`);
    put('partials/mine.ejs', '');
    put('assets/font.woff2', 'x');
    put(
      'assets/branding.css',
      '@import "./style.css"; @font-face { src: url(font.woff2) } a { mask: url(#m), url("https://x.example/a.png") }',
    );
    put('README.md', 'ours');
    expect(await views('check')).toMatchObject({ code: 0, stderr: '' });
  });
});
