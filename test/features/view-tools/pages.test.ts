// Rendering of the built-in pages, and what an administrator's folder can change about them.
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { createPages } from '../../../src/views/pages.ts';
import type { Pages, PagesOptions, ViewProblem } from '../../../src/views/pages.ts';
import { htmlProblems } from './html-problems.ts';
import { PAGE_STATES, type PageState } from '../../../src/features/view-tools/page-samples.ts';
import { parseLocaleFile, placeholdersOf } from '../../../src/views/texts.ts';
import { putFile, testFolder } from '../../world/temp-folder.ts';

const builtInFolder = path.resolve(import.meta.dirname, '../../../views');
const context = { locale: 'en' };
/** All script elements that pages may have. */
const SCRIPTS = /<script src="\/id\/assets\/(?:page|passkey|form-post)\.js" defer><\/script>/g;
const ATTACK = `"><script>alert('1')</script>`;

const LOGIN = {
  client: { id: 'web', name: 'Example web app' },
  action: '/login',
  csrf: 'csrf',
  cancelAction: '/cancel',
  cancelCsrf: 'csrf',
  username: '',
};

let folder: string;
let problems: ViewProblem[];

beforeEach(() => {
  folder = testFolder();
  problems = [];
});

function pagesWith(options: Partial<PagesOptions> = {}): Pages {
  return createPages({
    branding: { name: 'Acme ID' },
    assetUrl: (name) => `/id/assets/${name}`,
    onProblem: (problem) => problems.push(problem),
    ...options,
  });
}

/** Writes files under a fresh views folder. */
function override(files: Record<string, string>): Partial<PagesOptions> {
  return { overrideFolder: writeViews('override', files) };
}

function writeViews(name: string, files: Record<string, string>): string {
  const root = path.join(folder, name);
  mkdirSync(root, { recursive: true });
  for (const [file, text] of Object.entries(files)) putFile(path.join(root, file), text);
  return root;
}

function renderState(pages: Pages, { name, model }: PageState): string {
  return pages.render(name, model, context);
}

/** The same model with `text` in each string. */
function withText(model: PageState['model'], text: string): PageState['model'] {
  return JSON.parse(JSON.stringify(model, (_, value: unknown) => (typeof value === 'string' ? text : value)));
}

/** All states except emails, which aren't pages. */
const ON_PAGES = PAGE_STATES.filter(({ title }) => !title.startsWith('letter'));

describe('every state of every page', () => {
  it('is valid HTML that the CSP lets through', () => {
    const pages = pagesWith();
    for (const state of ON_PAGES) {
      const html = renderState(pages, state);
      expect(htmlProblems(html), state.title).toEqual([]);
      expect(html.replace(SCRIPTS, ''), state.title).not.toMatch(/<script|<style|undefined|\[object/);
    }
    expect(problems).toEqual([]);
  });

  it("has an app's own links on the consent page alone, three links in its footer, and one to help", () => {
    const uris = { privacyUri: 'https://x/p', termsUri: 'https://x/t', imprintUri: 'https://x/i' };
    const branding = { name: 'Acme', ...uris, supportUri: 'https://x/s', accountUri: 'https://x/account' };
    const pages = pagesWith({ branding });
    for (const state of ON_PAGES) {
      const html = renderState(pages, state);
      const [footer = ''] = /<footer[\s\S]*<\/footer>/.exec(html) ?? [];
      expect(footer.match(/rel="noreferrer"/g), state.title).toHaveLength(3);
      expect(html.split(branding.supportUri), state.title).toHaveLength(2);
      if (state.name !== 'consent') expect(html, state.title).not.toMatch(/\/(?:policyUri|tosUri)"/);
    }
    const consent = PAGE_STATES.find(({ title }) => title === 'consent');
    expect(consent && renderState(pages, consent)).toMatch(/\/policyUri"[\s\S]*\/tosUri"/);
  });

  it('escapes markup in every field (LG-38)', () => {
    const pages = pagesWith({ branding: { name: ATTACK, logo: `https://x/${ATTACK}`, color: ATTACK } });
    for (const { name, title, model } of PAGE_STATES) {
      const html = pages.render(name, withText(model, ATTACK), { locale: ATTACK });
      const isEmail = title.startsWith('letter');
      expect(
        htmlProblems(html).filter((one) => !isEmail || !one.includes('style')),
        title,
      ).toEqual([]);
      expect(html.replace(SCRIPTS, ''), title).not.toContain('<script');
      expect(html, title).toContain('&lt;script&gt;');
    }
  });

  it('says in the title that something went wrong, if it did', () => {
    const pages = pagesWith();
    for (const state of PAGE_STATES.filter(({ model }) => 'error' in model || 'enrolment' in model)) {
      const html = renderState(pages, state);
      expect(html.includes('<title>Error: '), state.title).toBe(html.includes('role="alert"'));
    }
  });
});

describe('the built-in pages', () => {
  it('help password managers with the right autocomplete tokens', () => {
    const html = pagesWith().render('login', LOGIN, context);
    expect(html).toMatch(/name="username"[^>]*autocomplete="username" autocapitalize="none"/);
    expect(html).toMatch(/name="password"[^>]*autocomplete="current-password"/);
    expect(html).toMatch(/spellcheck="false"/);
    const withPasskey = { ...LOGIN, passkey: { action: '/passkey', csrf: 'csrf-token', options: '{}' } };
    expect(pagesWith().render('login', withPasskey, context)).toMatch(
      /name="username"[^>]*autocomplete="username webauthn"/,
    );
  });

  it('tie a refused sign-in to both fields without saying which was wrong', () => {
    const html = pagesWith().render(
      'login',
      { ...LOGIN, username: 'alice@example.com', error: 'invalid_credentials' },
      context,
    );
    expect(html).toContain('role="alert"');
    expect(html.match(/aria-invalid="true"/g)).toHaveLength(2);
    expect(html.match(/aria-describedby="sign-in-error/g)).toHaveLength(2);
    expect(html).toContain('<title>Error: Sign in');
    expect(html).toContain('value="alice@example.com"');
  });

  it('call the fields valid when it was the rate or the load', () => {
    const html = pagesWith().render('login', { ...LOGIN, error: 'busy' }, context);
    expect(html).toContain('role="alert"');
    expect(html).not.toContain('aria-invalid');
  });

  it('do without a logo that is not there, and report it', () => {
    const pages = pagesWith({
      branding: { name: 'Acme', logo: 'nope.svg' },
      assetUrl: (name) => {
        if (name === 'nope.svg') throw new Error('unknown asset "nope.svg"');
        return `/${name}`;
      },
    });
    expect(pages.render('logged-out', { outcome: 'signed_out' }, context)).not.toContain('<img');
    expect(problems).toMatchObject([{ file: 'nope.svg', message: 'unknown asset "nope.svg"' }]);
  });
});

describe('hostile keys in a model (IN-01, IN-02)', () => {
  const hostile = {
    settings: { 'view options': { client: true, escapeFunction: 'globalThis.hacked = true; x => x' } },
    ...Object.fromEntries(
      `client escapeFunction escape layout writeResp cache delimiter openDelimiter filename async localsName
        outputFunctionName destructuredLocals include asset branding locale page title __append __output`
        .split(/\s+/)
        .map((key) => [key, '../../../../etc/passwd']),
    ),
  };

  it('change nothing in any page', () => {
    const pages = pagesWith();
    for (const state of PAGE_STATES) {
      const model = { ...hostile, client: undefined, ...state.model };
      expect(pages.render(state.name, model, context)).toBe(renderState(pages, state));
    }
    expect(problems).toEqual([]);
    expect(globalThis).not.toHaveProperty('hacked');
  });

  it('change nothing from a polluted Object.prototype', () => {
    const pages = pagesWith();
    const expected = pages.render('login', LOGIN, context);
    const keys = ['escapeFn', 'include', 'client', 'escapeFunction', 'outputFunctionName', 'title'];
    try {
      for (const key of keys) Reflect.set(Object.prototype, key, 'polluted');
      expect(pagesWith().render('login', LOGIN, context)).toBe(expected);
    } finally {
      for (const key of keys) Reflect.deleteProperty(Object.prototype, key);
    }
  });
});

describe("an operator's folder", () => {
  it('can include partials of its own, from the top of the folder, with data', () => {
    const pages = pagesWith(
      override({
        'login.ejs': "<%- include('parts/a', { word: 'one' }) %>",
        'parts/a.ejs':
          "<%= locals.word %> <%- include('parts/b', { word: 'two' }) %> <%- include('parts/b') %>",
        'parts/b.ejs': '<%= locals.word %>/<%= locale %>',
      }),
    );
    expect(pages.render('login', LOGIN, context)).toBe('one two/en one/en');
  });

  it('can say with its own plural forms how long the second step has to wait', () => {
    const texts = { 'second_step.error.too_many_attempts.other': 'Wait for {{count}} minutes.' };
    const own = override({ 'locales/en.json': JSON.stringify(texts) });
    const [step] = PAGE_STATES.flatMap((one) => (one.name === 'second-step' ? [one.model] : []));
    if (step === undefined) throw new Error('no such page');
    const model = { ...step, error: 'too_many_attempts', minutes: 7 } as const;
    const shown = [{}, own].map((views) => pagesWith(views).render('second-step', model, context));
    expect(shown[0]).toContain('Too many incorrect codes. Try again in 7 minutes.');
    expect(shown[1]).toContain('Wait for 7 minutes.');
  });

  it('can neither include nor read a file outside of the views', () => {
    writeViews('.', { 'secret.ejs': 'secret' });
    for (const target of [
      '../secret',
      '/etc/passwd',
      '../../../../etc/passwd',
      path.join(folder, 'secret'),
    ]) {
      const pages = pagesWith(override({ 'login.ejs': `<%- include(${JSON.stringify(target)}) %>` }));
      expect(pages.render('login', LOGIN, context)).toContain('<h1>Sign in</h1>');
    }
    expect(problems).toHaveLength(4);
  });

  it('makes no global variable by an assignment without const', () => {
    const pages = pagesWith(override({ 'login.ejs': '<% leaked = model.csrf %>' }));
    expect(pages.render('login', LOGIN, context)).toContain('<h1>Sign in</h1>');
    expect(globalThis).not.toHaveProperty('leaked');
  });

  it('is reported when it is not there', () => {
    const pages = pagesWith({ overrideFolder: path.join(folder, 'typo') });
    expect(pages.render('login', LOGIN, context)).toContain('<h1>Sign in</h1>');
    expect(problems).toMatchObject([{ file: path.join(folder, 'typo') }]);
  });

  it("is reported when it can't be read", () => {
    writeViews('.', { file: 'not a folder' });
    const pages = pagesWith({ overrideFolder: path.join(folder, 'file') });
    expect(pages.render('login', LOGIN, context)).toContain('<h1>Sign in</h1>');
    expect(problems).toMatchObject([{ file: path.join(folder, 'file') }]);
  });

  it('may hold other files', () => {
    pagesWith(override({ 'README.md': '<%', '.login.ejs.swp': '<%', 'assets/x.css': '<%' }));
    expect(problems).toEqual([]);
  });
});

describe('a broken template of an operator', () => {
  const broken = [
    ['that does not compile', '<% if (true) { %>'],
    ['with an unclosed tag', '<% if (true)'],
    ['that throws', '<% throw new Error("oops") %>'],
    ['that uses an unknown name', '<%= modle.username %>'],
    ['that includes what is not there', "<%- include('nothing') %>"],
    ['that includes itself', "<%- include('login') %>"],
  ] as const;

  it.each(broken)('%s falls back to the built-in page and is reported once', (_, text) => {
    const pages = pagesWith(override({ 'login.ejs': text }));
    const expected = pagesWith().render('login', LOGIN, context);

    for (let time = 0; time < 3; time += 1) expect(pages.render('login', LOGIN, context)).toBe(expected);

    expect(problems).toHaveLength(1);
    expect(problems[0]?.file).toMatch(/login\.ejs$/);
    expect(problems[0]?.message.length).toBeLessThanOrEqual(2000);
    expect(problems[0]?.message).not.toContain('EJS-Lint');
  });

  it('names the file and the line', () => {
    pagesWith(override({ 'login.ejs': 'one\n<%= modle.username %>' })).render('login', LOGIN, context);
    expect(problems[0]?.message).toContain(`${path.join(folder, 'override', 'login.ejs')}:2`);
    expect(problems[0]?.message).toContain('modle is not defined');
  });

  it.each([
    ['<p>\n<% if (true) { %>\n<p>\n<% if (false) { %>\n<% } %>', 2],
    ['<% if (true) { %>\n<% } %>\n<%\n if ( %>\n<%\n\n%>', 3],
    ['<p>\n<%= model.username\n<p>', 2],
    ['<% ) %>', 1],
  ])('that does not compile names the line, too: %j', (text, line) => {
    pagesWith(override({ 'login.ejs': text }));
    expect(problems[0]?.message).toMatch(new RegExp(`^\\w*Error: .+ \\(line ${line}\\)$`));
  });

  it('that is a partial: each page falls back whole', () => {
    const pages = pagesWith(override({ 'partials/head.ejs': '<%= nope.nope %>' }));
    const builtIn = pagesWith();
    for (const state of PAGE_STATES) expect(renderState(pages, state)).toBe(renderState(builtIn, state));
    expect(new Set(problems.map(({ file }) => file)).size).toBe(
      new Set(ON_PAGES.map(({ name }) => name)).size,
    );
  });

  it('that does not compile leaves the other files in force', () => {
    const files = { 'partials/head.ejs': '<% if (', 'partials/foot.ejs': 'Our own foot' };
    const html = pagesWith(override(files)).render('login', LOGIN, context);
    expect(html).toContain('<title>Sign in');
    expect(html).toContain('Our own foot');
    expect(problems).toHaveLength(1);
  });

  it('that fails only for some users: they get the built-in page, and each case is reported, up to a limit', () => {
    const text = '<% if (model.username.startsWith("user ")) throw new Error(model.username) %>fine';
    const pages = pagesWith(override({ 'login.ejs': text }));
    expect(pages.render('login', LOGIN, context)).toBe('fine');
    for (let user = 0; user < 300; user += 1) {
      const html = pages.render('login', { ...LOGIN, username: `user ${user}` }, context);
      expect(html).toContain('<h1>Sign in</h1>');
    }
    expect(problems).toHaveLength(100);
  });
});

describe('languages', () => {
  const codes = ['en', 'de', 'es', 'fr', 'ja'];
  const files = codes.map((locale) => ({
    locale,
    texts: parseLocaleFile(readFileSync(path.join(builtInFolder, `locales/${locale}.json`), 'utf8')),
  }));
  const english = files[0]?.texts ?? new Map<string, string>();

  const withoutForm = (key: string) => key.replace(/\.(?:one|two|few|many)$/, '.other');

  it.each(files)('$locale has every text, with the same values in it', ({ texts }) => {
    const keysOf = (all: ReadonlyMap<string, string>) => [...new Set([...all.keys()].map(withoutForm))];
    expect(keysOf(texts).toSorted()).toEqual(keysOf(english).toSorted());
    for (const [key, text] of texts) {
      const original = english.get(key) ?? english.get(withoutForm(key)) ?? '';
      expect(placeholdersOf(text).toSorted(), key).toEqual(placeholdersOf(original).toSorted());
      expect(text.trim(), key).toBe(text);
      expect(text, key).not.toBe('');
    }
  });

  it.each(files)('$locale has the plural forms of its language', ({ locale, texts }) => {
    const rules = new Intl.PluralRules(locale);
    const forms = new Set(Array.from({ length: 200 }, (_, count) => rules.select(count)));
    const withForms = [...texts.keys()].filter(
      (key) => key.endsWith('.other') && texts.get(key)?.includes('{{count}}'),
    );
    expect(withForms).not.toEqual([]);
    for (const key of withForms)
      for (const form of forms) expect([...texts.keys()]).toContain(key.replace(/other$/, form));
  });

  it('choose the form of a count by the rules of their own language, down to a text without forms', () => {
    const pl = {
      'factors.recovery_left.one': '1 kod',
      'factors.recovery_left.few': '{{count}} kody',
      'factors.recovery_left.other': '{{count}} kodów',
    };
    const pages = pagesWith(
      override({
        'locales/pl.json': JSON.stringify(pl),
        'locales/de.json': '{"factors.recovery_left":"Codes: {{count}}"}',
        'login.ejs': '<%= t("factors.recovery_left", { count: model.username }) %>',
      }),
    );
    const leftIn = (locale: string, left: number) =>
      pages.render('login', { ...LOGIN, username: String(left) }, { locale });
    expect([1, 3, 5].map((left) => leftIn('pl', left))).toEqual(['1 kod', '3 kody', '5 kodów']);
    expect([0, 1].map((left) => leftIn('en', left))).toEqual(['0 codes left', '1 code left']);
    expect([leftIn('fr', 0), leftIn('ja', 1), leftIn('de', 1)]).toEqual([
      'Il reste 0 code',
      '残り 1 個',
      'Codes: 1',
    ]);
    expect(problems).toEqual([]);
  });

  it.each(files)('$locale says of another browser nothing that this one is called', ({ texts }) => {
    const here = texts.get('account.session.current') ?? '';
    expect(here).not.toBe('');
    expect(texts.get('account.done.session_ended')).not.toContain(here);
  });

  it('leave no English word in a page of another language, and use every text of the file', () => {
    const used = new Set<string>();
    const marked = Object.fromEntries([...english].map(([key]) => [key, `[${key}]`]));
    const pages = pagesWith(override({ 'locales/xx.json': JSON.stringify(marked) }));
    for (const state of PAGE_STATES) {
      const html = pages.render(state.name, state.model, {
        locale: 'xx',
        languageUrl: (locale) => `?lang=${locale}`,
      });
      for (const [, key = ''] of html.matchAll(/\[([\w.]+)\]/g)) used.add(key);
      expect(html).toContain('<html lang="xx"');
    }
    const branded = {
      name: 'Acme',
      privacyUri: 'https://x/p',
      termsUri: 'https://x/t',
      imprintUri: 'https://x/i',
      supportUri: 'https://x/s',
      accountUri: 'https://x/account',
    };
    const html = pagesWith({ ...override({}), branding: branded }).render('login', LOGIN, { locale: 'xx' });
    for (const [, key = ''] of html.matchAll(/\[([\w.]+)\]/g)) used.add(key);
    // The model contains the texts of scopes.
    const unused = [...english.keys()].filter(
      (key) => !used.has(withoutForm(key)) && !/^(scope\.|language$)/.test(key),
    );
    expect(unused).toEqual([]);
    expect(problems).toEqual([]);
  });

  it('are merged key by key: one key of one language of the operator wins, everything else stays', () => {
    const pages = pagesWith(override({ 'locales/de.json': '{"login.title":"Herein!"}' }));
    const html = pages.render('login', LOGIN, { locale: 'de' });
    expect(html).toContain('<h1>Herein!</h1>');
    expect(html).toContain('Benutzername');
    expect(pages.render('login', LOGIN, context)).toContain('<h1>Sign in</h1>');
  });

  it('can be added, right to left too, and what they lack is English', () => {
    const pages = pagesWith(
      override({ 'locales/ar.json': '{"language":"العربية","login.title":"تسجيل الدخول"}' }),
    );
    const html = pages.render('login', LOGIN, { locale: 'ar', languageUrl: (locale) => `/x?lang=${locale}` });
    expect(html).toContain('<html lang="ar" dir="rtl">');
    expect(html).toContain('<h1>تسجيل الدخول</h1>');
    expect(html).toContain('Username');
    expect(html).toContain(
      '<a href="/x?lang=ar" lang="ar" hreflang="ar" rel="nofollow" aria-current="true">العربية</a>',
    );
    expect(html).toContain('>Français</a>');
    expect(htmlProblems(html)).toEqual([]);
  });

  it.each(['{', '[]', '{"login.title": 1}', 'null'])('ignore and report an invalid file: %s', (text) => {
    const pages = pagesWith(override({ 'locales/de.json': text }));
    expect(pages.render('login', LOGIN, { locale: 'de' })).toContain('<h1>Anmelden</h1>');
    expect(problems).toHaveLength(1);
  });

  it('show the key of a missing text, and report it', () => {
    const pages = pagesWith(override({ 'login.ejs': '<%= t("login.titel") %>' }));
    expect(pages.render('login', LOGIN, context)).toBe('login.titel');
    expect(problems).toMatchObject([{ message: 'There is no text login.titel' }]);
  });

  it('escape what they put into a text', () => {
    const pages = pagesWith(override({ 'locales/en.json': '{"login.title":"<b>{{client}}</b>"}' }));
    const html = pages.render('login', LOGIN, context);
    expect(html).toContain('<h1>&lt;b&gt;{{client}}&lt;/b&gt;</h1>');
  });
});
