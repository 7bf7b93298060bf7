// The administrator's folder of views on a running service.
import { rmSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Page } from '../world/browser.ts';
import { begin, enterPassword, newBrowser, titleOf } from '../world/person.ts';
import { get } from '../world/requests.ts';
import { putFile, tempFolder } from '../world/temp-folder.ts';
import { useWorld } from '../world/each-store.ts';
import { PASSWORDS } from '../world/world.ts';

const folder = tempFolder();

describe('a folder of views, while the service runs', () => {
  const branding = {
    name: 'Acme ID',
    color: '#0b6e4f',
    logo: 'logo.svg',
    privacy_uri: 'https://acme.example/privacy',
    terms_uri: 'https://acme.example/terms',
    imprint_uri: 'https://acme.example/imprint',
    support_uri: 'mailto:help@acme.example',
  };
  const world = useWorld({ config: { views: path.join(folder, 'views'), branding } });

  /** Writes a view and reloads the views, as after SIGHUP. */
  async function put(name: string, text: string): Promise<void> {
    putFile(path.join(folder, 'views', name), text);
    await world().server.reloadViews();
  }

  const openLogin = async (): Promise<Page> => (await begin(world())).page;

  it('need not exist at the start; then its files win one by one, and their end is the built-in page', async () => {
    expect(titleOf(await openLogin())).toBe('Sign in');
    await put('locales/en.json', '{"login.title": "Welcome"}');
    expect(titleOf(await openLogin())).toBe('Welcome');
    await put('partials/foot.ejs', '<p>Our own foot</p></main></body></html>');
    const page = await openLogin();
    expect(page.text).toContain('Our own foot');
    expect(titleOf(page)).toBe('Welcome');
    rmSync(path.join(folder, 'views/partials'), { recursive: true });
    await world().server.reloadViews();
    expect((await openLogin()).text).not.toContain('Our own foot');
  });

  it('shows the built-in page in the place of a broken one: no blank page, no 500, and one line in the log', async () => {
    await put(
      'login.ejs',
      '<h1>Ours</h1><%- include("partials/sentence", { key: "login.lead", values: { client: "x" } }) %>',
    );
    expect(titleOf(await openLogin())).toBe('Ours');
    for (const broken of ['<% if (', '<%= nope %>', '<%- include("nothing") %>']) {
      world().recorded.log.length = 0;
      await put('login.ejs', broken);
      const page = await openLogin();
      expect([page.status, titleOf(page)], broken).toEqual([200, 'Welcome']);
      expect(world().recorded.log.filter((line) => line.includes('login.ejs'))).toHaveLength(1);
    }
    rmSync(path.join(folder, 'views/login.ejs'));
  });

  it('serves its assets under names that change with them, branding.css last, and old names for open pages', async () => {
    await put('assets/branding.css', 'body { color: red }');
    await put('assets/logo.svg', '<svg xmlns="http://www.w3.org/2000/svg"/>');
    const page = await openLogin();
    const sheets = [...page.text.matchAll(/rel="stylesheet" href="([^"]+)"/g)].map(([, href = '']) => href);
    expect(sheets.map((href) => /\/(\w+)\./.exec(href.slice(world().issuer.length))?.[1])).toEqual([
      'style',
      'colors',
      'branding',
    ]);
    const path1 = (sheets[2] ?? '').slice(world().issuer.length);
    expect(await get(world(), path1)).toMatchObject({ status: 200, text: 'body { color: red }' });
    expect((await get(world(), path1)).headers.get('cache-control')).toContain('immutable');
    await put('assets/branding.css', 'body { color: blue }');
    const next = await openLogin();
    expect(next.text).not.toContain(path1);
    const path2 = /assets\/branding\.\w+\.css/.exec(next.text)?.[0] ?? '';
    expect((await get(world(), `/${path2}`)).text).toBe('body { color: blue }');
    expect((await get(world(), path1)).text).toBe('body { color: blue }');
  });

  it('has an icon at every address that a browser asks, and its colour for the bars of a phone', async () => {
    const { text } = await openLogin();
    const icon = /rel="icon" href="([^"]+)"/.exec(text)?.[1] ?? '';
    const touch = /rel="apple-touch-icon" href="([^"]+)"/.exec(text)?.[1] ?? '';
    const at = (url: string) => get(world(), url.slice(world().issuer.length));
    expect((await at(icon)).headers.get('content-type')).toBe('image/svg+xml');
    expect((await at(touch)).headers.get('content-type')).toBe('image/png');
    expect(await get(world(), '/favicon.ico')).toMatchObject({ status: 200, text: (await at(icon)).text });
    expect(text.match(/<meta name="theme-color"/g)).toHaveLength(2);
  });

  it('is branded by the configuration alone', async () => {
    const { text } = await openLogin();
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
    const error = (await newBrowser(world()).open(`${world().issuer}/nothing`)).text;
    expect(error.split(help)).toHaveLength(2);
  });

  it("LO-10, LO-13: the pages of a sign-out can't be framed, follow the issuer alone, and write no hint anywhere", async () => {
    world().recorded.log.length = 0;
    const { browser, page: consent } = await enterPassword(world());
    await browser.submit(consent, '/consent');
    const hint = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.canary';
    for (const one of [
      await browser.open(`${world().issuer}/oauth/logout`, {
        headers: { 'x-forwarded-host': 'evil.example' },
      }),
      await newBrowser(world()).open(`${world().issuer}/oauth/logout`),
      await browser.open(`${world().issuer}/oauth/logout?id_token_hint=${hint}`),
    ]) {
      expect(one.headers.get('x-frame-options')).toBe('DENY');
      expect(one.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
      expect(one.headers.get('referrer-policy')).toBe('same-origin');
      expect(one.text).not.toMatch(/evil\.example|canary/);
      for (const [, action = ''] of one.text.matchAll(/<form[^>]*action="([^"]*)"/g))
        expect(action.startsWith(`${world().issuer}/`)).toBe(true);
    }
    expect(world().recorded.log.join('')).not.toContain('canary');
    expect(world().recorded.log.join('')).not.toContain(PASSWORDS.alice);
  });
});
