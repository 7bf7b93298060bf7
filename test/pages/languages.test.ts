// The language of a page: the app's request, the user's choice, the browser's preference.
import { describe, expect, it } from 'vitest';
import { useWorld } from '../world/each-store.ts';
import { begin, newBrowser, signInAs, titleOf } from '../world/person.ts';
import { GENEROUS, worldClients } from '../world/world.ts';

const world = useWorld({
  config: { ...GENEROUS, clients: worldClients({ web: { client_uri: 'https://app.example/' } }) },
});
const TITLES = { en: 'Sign in', de: 'Anmelden', fr: 'Connexion' } as const;

async function titleWith(parameters: Record<string, string>, acceptLanguage: string): Promise<string> {
  const { page } = await begin(world(), parameters, { headers: { 'accept-language': acceptLanguage } });
  return titleOf(page);
}

describe('the language of a page', () => {
  it.each([
    [{}, '', 'en'],
    [{}, '*', 'en'],
    [{}, 'de-AT,de;q=0.9,en;q=0.5', 'de'],
    [{}, 'pt, fr;q=0.7, en;q=0.3', 'fr'],
    [{}, 'de;q=0.2, fr;q=0.9', 'fr'],
    [{}, 'de;q=0, fr;q=0.1', 'fr'],
    [{ ui_locales: 'de' }, 'fr', 'de'],
    [{ ui_locales: 'pt fr-CA de' }, 'de', 'fr'],
    [{ ui_locales: 'pt it' }, 'de', 'de'],
    [{ ui_locales: '../../de %00 d' }, 'fr', 'fr'],
    [{ ui_locales: 'x'.repeat(200) }, ',;,q=;de;q=x', 'en'],
  ] as const)('with %j and Accept-Language %s is %s', async (parameters, accept, locale) => {
    expect(await titleWith(parameters, accept)).toBe(TITLES[locale]);
  });

  it('is chosen on the page by a plain link, holds for the sign-in whatever the app asks, and is remembered', async () => {
    const { browser, page } = await begin(world(), { ui_locales: 'en' });
    expect(titleOf(page)).toBe(TITLES.en);
    const link = /<a href="([^"]+)" lang="de"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect(link).toMatch(`${page.url}?lang=de`);
    const german = await browser.open(link);
    expect(titleOf(german)).toBe(TITLES.de);
    const failed = await browser.submit(german, '/login', { username: 'alice', password: 'wrong' });
    expect(failed.text).toContain('<html lang="de" dir="ltr">');
    expect(failed.text).toContain('Benutzername oder Passwort ist falsch.');
    const consent = await signInAs(browser, failed, 'alice');
    expect(titleOf(consent)).toBe('Web app möchte auf Ihr Konto zugreifen');
    const out = await browser.open(`${world().issuer}/oauth/logout`, {
      headers: { 'accept-language': 'fr' },
    });
    expect(titleOf(out)).toBe('Abmelden?');
    // The choice is remembered, and comes before the requests of an app and the browser.
    const names = browser.cookies
      .filter(({ name }) => name.startsWith('postern_language'))
      .map(({ name }) => name);
    expect(names).toEqual(['postern_language']);
    const later = newBrowser(world());
    for (const cookie of browser.cookies) if (cookie.name === 'postern_language') later.setCookie(cookie);
    const headers = { 'accept-language': 'fr' };
    const remembered = await begin(world(), { ui_locales: 'fr' }, { browser: later, headers });
    expect(titleOf(remembered.page)).toBe(TITLES.de);
  });

  it('holds for the pages of the engine and for errors', async () => {
    const headers = { 'accept-language': 'de' };
    const browser = newBrowser(world());
    const open = (path: string) => browser.open(`${world().issuer}${path}`, { headers });
    expect(titleOf(await open('/nothing'))).toBe('Seite nicht gefunden');
    expect(titleOf(await open('/oauth/logout'))).toBe('Sie sind bereits abgemeldet');
    expect(titleOf(await open('/oauth/authorize?client_id=nope'))).toBe(
      'Diese App ist nicht richtig eingerichtet',
    );
    expect(titleOf(await open('/oauth/authorize?client_id=nope&ui_locales=fr'))).toBe(
      'Cette application n’est pas configurée correctement',
    );
  });

  it('is chosen on pages without a sign-in too, where their address alone leads to them', async () => {
    const browser = newBrowser(world());
    const hrefOf = (text: string) => /<a href="([^"]+)" lang="de"/.exec(text)?.[1];
    expect(hrefOf((await browser.open(`${world().issuer}/nothing`)).text)).toBe('?lang=de');
    const german = await browser.open(`${world().issuer}/nothing?lang=de`);
    expect(titleOf(german)).toBe('Seite nicht gefunden');
    expect(titleOf(await browser.open(`${world().issuer}/oauth/logout`))).toBe('Sie sind bereits abgemeldet');
    const out = await browser.open(`${world().issuer}/oauth/logout/success?client_id=web`);
    expect(hrefOf(out.text)).toBe('?client_id=web&amp;lang=de');
    // No page repeats input of the request.
    for (const path of [
      '/nothing?x=evil',
      '/oauth/logout?client_id=%3Cevil%3E',
      '/oauth/authorize?state=evil',
    ])
      expect((await browser.open(`${world().issuer}${path}`)).text, path).not.toMatch(/hreflang|evil/);
  });

  it('IN-03: is one that exists, whatever a cookie or a link says', async () => {
    const browser = newBrowser(world());
    for (const value of [
      '../../etc/passwd',
      'de/../../x',
      '%2e%2e',
      '__proto__',
      'constructor',
      'de.json',
      '<b>',
    ]) {
      browser.setCookie({ name: 'postern_language', value: encodeURIComponent(value), path: '/' });
      const { page } = await begin(world(), { ui_locales: value }, { browser });
      expect([page.status, titleOf(page)], value).toEqual([200, TITLES.en]);
      const linked = await browser.open(`${page.url}?lang=${encodeURIComponent(value)}`);
      expect([linked.status, titleOf(linked)], value).toEqual([200, TITLES.en]);
      for (const { text } of [page, linked]) expect(text, value).toContain('<html lang="en"');
      expect(linked.text).not.toContain('passwd');
    }
  });
});
