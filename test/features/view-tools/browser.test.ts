// The built-in pages in a real browser: accessibility, reflow and the content security policy, each page in each state,
// light and dark, on a phone and on a desktop, with sample models. POSTERN_PICTURES=1 saves a picture of each in
// artifacts/pages. The journeys through the pages are test/browser/journeys.test.ts.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { launchChromium } from '../../world/chromium.ts';
import { worldVault } from '../../world/stored.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createAssets } from '../../../src/views/assets.ts';
import { createOneTimeCodes } from '../../../src/features/second-factors/one-time-codes.ts';
import { createPages } from '../../../src/views/pages.ts';
import { PAGE_STATES as ALL, type PageState } from '../../../src/features/view-tools/page-samples.ts';
import { axeFaults, showInstead, WCAG } from '../../browser/axe.ts';

const PICTURES = path.resolve('artifacts/pages');
// A right-to-left language, with a few translated texts.
const overrideFolder = path.resolve(import.meta.dirname, '../../browser/fixtures/right-to-left');
const CSP =
  "default-src 'none'; style-src 'self'; img-src 'self' https: data:; script-src 'self'; base-uri 'none'; frame-ancestors 'none'";
const BRANDING = {
  name: 'Acme ID',
  privacyUri: 'https://acme.example/privacy',
  imprintUri: 'https://acme.example/imprint',
  supportUri: 'https://acme.example/help',
};
const LOGO =
  'data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22 width=%22120%22 height=%2230%22/%3E';
// Ours, one that is almost the light card, one that is almost the dark card, and one that is hard for both.
const COLORS = ['', '#fff04d', '#141a26', '#777777'];

const LONG = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft';
/** All states except emails, which aren't pages. */
const MADE = ALL.filter(({ title }) => !title.startsWith('letter'));
/** All states, with those that a journey needs and that no single field creates. */
const PAGE_STATES: readonly PageState[] = [
  ...MADE,
  ...MADE.flatMap((state): PageState[] => {
    if (state.title === 'second-step') {
      const model = { ...state.model, oneTimeCode: false, recoveryCode: false };
      return [{ ...state, title: 'second-step passkey alone', model } as PageState];
    }
    if (state.title !== 'consent elsewhere') return [];
    const document = { name: LONG, destination: LONG, leads: 'elsewhere' };
    return [
      { ...state, title: 'consent document long words', model: { ...state.model, document } } as PageState,
    ];
  }),
];

function onProblem({ message }: { message: string }): never {
  throw new Error(message);
}

// One with a logo, and one whose logo can't be loaded.
const BRANDINGS = [
  ...COLORS.map((color) => ({ color: color || undefined })),
  { logo: LOGO },
  { logo: 'data:image/png,x' },
];
const [WITH_LOGO, WITHOUT_ITS_LOGO] = [COLORS.length, COLORS.length + 1];

const sites = BRANDINGS.map((own, index) => {
  const branding = { ...BRANDING, color: undefined, ...own };
  const assets = createAssets({ branding });
  const assetUrl = (name: string) => `/${index}/${assets.url(name)}`;
  return { assets, pages: createPages({ overrideFolder, branding, assetUrl, onProblem }) };
});

// /<index of branding>/assets/… or /<index of branding>/<index of state>?lang=…
const server = createServer((request, response) => {
  const url = new URL(request.url ?? '', 'http://localhost');
  const locale = url.searchParams.get('lang') ?? 'en';
  const [, branding = '', ...rest] = url.pathname.split('/');
  const site = sites[Number(branding)];
  const state = PAGE_STATES[Number(rest[0])];
  const asset = site?.assets.find(rest.join('/'));
  response.setHeader('Content-Security-Policy', CSP);
  if (rest.join('/').startsWith('assets/form-post.')) {
    // The script would leave the page before it is measured: features/form-post/browser.test.ts covers it.
    response.setHeader('Content-Type', 'text/javascript').end();
  } else if (asset) {
    response.setHeader('Content-Type', asset.type).end(asset.body);
  } else if (url.pathname === '/axe.js') {
    response
      .setHeader('Content-Type', 'text/javascript')
      .setHeader('Cache-Control', 'max-age=3600')
      .end(axe.source);
  } else if (site && state) {
    const rendered = site.pages.render(state.name, state.model, {
      locale,
      languageUrl: (tag) => `?lang=${tag}`,
    });
    // `?broken`: the logo of the app doesn't load.
    const html = url.searchParams.has('broken')
      ? rendered.replace(/(class="client-logo">\s*<img src=")[^"]+/, '$1data:image/png,x')
      : rendered;
    response.setHeader('Content-Type', 'text/html; charset=utf-8').end(html);
  } else {
    response.writeHead(404).end();
  }
});

let browser: Browser;
// axe is a script in the page, which the CSP would rightly stop, so it has a page that ignores the CSP.
let measured: Page;
// A page without scripts, for users who block them.
let scriptless: Page;
let complaints: string[] = [];

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('no port');
  const baseURL = `http://127.0.0.1:${address.port}`;
  browser = await launchChromium();
  measured = await (await browser.newContext({ baseURL, bypassCSP: true })).newPage();
  scriptless = await (await browser.newContext({ baseURL, javaScriptEnabled: false })).newPage();
  for (const page of [measured, scriptless]) {
    page.on('console', (message) => complaints.push(message.text()));
    page.on('requestfailed', (request) => {
      const reason = request.failure()?.errorText ?? 'failed';
      // Aborted only because the page was left before its icon had loaded.
      if (reason !== 'net::ERR_ABORTED') complaints.push(`${reason}: ${request.url()}`);
    });
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

/** Returns the faults that axe finds by all rules of WCAG 2.2 AA, or by `options`. */
async function faultsOf(options = WCAG): Promise<string[]> {
  // A script with a URL is compiled once.
  if ((await measured.evaluate('"axe" in window')) !== true) await measured.addScriptTag({ url: '/axe.js' });
  const faults = await axeFaults(measured, options);
  return (
    faults
      // A contrast that axe can't determine also counts: our pages have no image behind text.
      .filter(({ id, isCertain }) => isCertain || id === 'color-contrast')
      .map(({ id, html }) => `${id}: ${html}`)
  );
}

function indexOf(title: string): number {
  return PAGE_STATES.findIndex((state) => state.title === title);
}

/** The first state of each page. */
const FIRSTS = PAGE_STATES.flatMap(({ name }, index) =>
  PAGE_STATES.findIndex((state) => state.name === name) === index ? [index] : [],
);

const SCHEMES = ['light', 'dark'] as const;
const SIZES = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };
/** On a phone the card fills the page. */
const BACKGROUNDS = {
  desktop: { light: 'rgb(243, 245, 248)', dark: 'rgb(14, 19, 27)' },
  phone: { light: 'rgb(255, 255, 255)', dark: 'rgb(23, 30, 41)' },
};
const FIRST_LOOK = ['light', 'desktop'] as const;
const LAST_LOOK = ['dark', 'phone'] as const;
const ALL_LOOKS = [FIRST_LOOK, ['light', 'phone'], ['dark', 'desktop'], LAST_LOOK] as const;
const CONTRAST = { runOnly: ['color-contrast'] };
const LOOKS = { runOnly: ['color-contrast', 'link-in-text-block', 'target-size'] };
const HAS_PICTURES = process.env['POSTERN_PICTURES'] === '1';

async function keepPicture(title: string, scheme: string, size: string): Promise<void> {
  if (!HAS_PICTURES) return;
  const name = `${title} ${scheme} ${size}`.replaceAll(/\W+/g, '-');
  await measured.screenshot({ path: path.join(PICTURES, `${name}.png`), fullPage: true });
}

/** The markup without text and URLs. axe checks states with the same markup once; the width of each is measured below. */
function markupOf({ name, model }: PageState): string {
  const html = sites[0]?.pages.render(name, model, { locale: 'en', languageUrl: (tag) => `?lang=${tag}` });
  return (html ?? '')
    .replaceAll(/>[^<]*/g, (words) => (words.trim() === '>' ? '>' : '>…'))
    .replaceAll(/ (?:href|value|action|content|src|srcset|data-[\w-]+)="[^"]*"/g, '');
}

const show = (index: number, locale = 'en') => showInstead(measured, `/0/${index}?lang=${locale}`);

describe.each(FIRSTS.map((index) => PAGE_STATES[index]?.name))('%s', (page) => {
  it('passes WCAG 2.2 AA as axe sees it in each state, light and dark, on a desk, a phone and at a zoom of 400 %', async () => {
    const seen = new Set<string>();
    for (const [index, state] of PAGE_STATES.entries()) {
      const markup = markupOf(state);
      if (state.name !== page || (seen.has(markup) && !HAS_PICTURES)) continue;
      const isFirst = seen.size === 0;
      seen.add(markup);
      await (isFirst ? measured.goto(`/0/${index}`) : show(index));
      // Each colour and each size with each state; with each other on the first one, because what they change together is the frame of all pages.
      for (const [scheme, size] of isFirst || HAS_PICTURES ? ALL_LOOKS : [FIRST_LOOK, LAST_LOOK]) {
        await measured.emulateMedia({ colorScheme: scheme });
        await measured.setViewportSize(SIZES[size]);
        await keepPicture(state.title, scheme, size);
        const [background, width] = await measured.evaluate<unknown[]>(
          '[getComputedStyle(document.body).backgroundColor, document.documentElement.scrollWidth]',
        );
        expect([background, width], state.title).toEqual([BACKGROUNDS[size][scheme], SIZES[size].width]);
        // Rules that don't depend on colour or size run once, and the stylesheet is checked with the first state.
        const rules = scheme === 'light' && size === 'desktop' ? WCAG : LOOKS;
        expect(await faultsOf({ ...rules, preload: isFirst }), `${state.title}, ${scheme} ${size}`).toEqual(
          [],
        );
      }
    }
    // Also the width that remains of 1280 px at a zoom of 400 %.
    await measured.setViewportSize({ width: 320, height: 256 });
    expect(await measured.evaluate('document.documentElement.scrollWidth')).toBe(320);
  });
});

/** The others have 416 px. */
const WIDE_CARDS: Readonly<Record<string, number>> = { account: 896, factors: 640, try: 704 };

// test/unit/views compares each state's markup with the policy, without a browser: here one page of each kind loads.
describe.each(FIRSTS.map((index) => ({ title: PAGE_STATES[index]?.title ?? '', index })))(
  '$title',
  ({ title, index }) => {
    it('loads under the content security policy and without JavaScript', async () => {
      await scriptless.goto(`/0/${index}`);
      // Only the stylesheet gives the card its width.
      const [page = ''] = title.split(' ');
      expect((await scriptless.locator('main').boundingBox())?.width).toBe(WIDE_CARDS[page] ?? 416);
    });
  },
);

describe('languages', () => {
  const locales = ['de', 'es', 'fr', 'ja', 'ar'];

  it.each(['en', ...locales])('no page in %s scrolls sideways at 320 px', async (locale) => {
    await measured.setViewportSize({ width: 320, height: 640 });
    await measured.goto(`/0/0?lang=${locale}`);
    // Doesn't load each state, because the stylesheet is the same.
    const widths = await measured.evaluate<number[]>(`(async () => {
    const widths = [];
    for (let index = 0; index < ${PAGE_STATES.length}; index += 1) {
      const text = await (await fetch(index + location.search)).text();
      document.body.replaceWith(new DOMParser().parseFromString(text, 'text/html').body);
      widths.push(document.documentElement.scrollWidth);
    }
    return widths;
  })()`);
    const wide = PAGE_STATES.filter((_state, index) => widths[index] !== 320);
    expect(wide.map(({ title }) => title)).toEqual([]);
  });

  // Every page in the right-to-left language. The other languages have the layout of English, and texts in the same places
  // (test/unit/views), so one page shows that their language is declared.
  it.each(locales)('pages in %s pass as well', async (locale) => {
    const shown = locale === 'ar' ? FIRSTS : [indexOf('login')];
    for (const [turn, index] of shown.entries()) {
      const title = PAGE_STATES[index]?.title ?? '';
      await (turn === 0 ? measured.goto(`/0/${index}?lang=${locale}`) : show(index, locale));
      await keepPicture(`${title} in ${locale}`, 'light', 'desktop');
      // Colours don't depend on the language.
      const faults = await faultsOf({ ...WCAG, rules: { 'color-contrast': { enabled: false } } });
      expect(faults, title).toEqual([]);
      expect(await measured.locator('html').getAttribute('dir')).toBe(locale === 'ar' ? 'rtl' : 'ltr');
    }
  });

  it('every target that is no link in a sentence is 44 px high where fingers point', async () => {
    await measured.goto('/0/0');
    const { origin } = new URL(measured.url());
    const viewport = { width: 320, height: 640 };
    const touch = { hasTouch: true, isMobile: true, bypassCSP: true };
    const phone = await browser.newContext({ baseURL: origin, viewport, ...touch });
    const page = await phone.newPage();
    await page.goto(`/0/${indexOf('login')}`);
    expect(await page.evaluate("matchMedia('(pointer: coarse)').matches")).toBe(true);
    // A label selects its checkbox or tab. WCAG 2.5.8 exempts links in a sentence.
    const low = await page.evaluate<string[]>(`(async () => {
      const low = new Set();
      for (let index = 0; index < ${PAGE_STATES.length}; index += 1) {
        const shown = new DOMParser().parseFromString(await (await fetch(index)).text(), 'text/html');
        for (const one of shown.querySelectorAll('details')) one.open = true;
        for (const one of shown.querySelectorAll('[data-passkey], [data-copies], .reveal')) one.hidden = false;
        document.body.replaceWith(shown.body);
        for (const one of document.querySelectorAll('a, button, input, summary')) {
          const target = /^(?:checkbox|radio)$/.test(one.type) ? one.labels[0] : one;
          const { height } = target.getBoundingClientRect();
          const isInSentence = [...one.parentNode.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
          if (height > 0 && height < 44 && !(one.localName === 'a' && isInSentence))
            low.add([document.body.className, one.localName, one.className, one.textContent.trim(), height].join(' '));
        }
      }
      return [...low];
    })()`);
    expect(low).toEqual([]);
    await phone.close();
  });

  it.each([320, 1280])('the menu of languages passes while it is open, at %s px', async (width) => {
    await measured.setViewportSize({ width, height: 640 });
    await measured.goto(`/0/${indexOf('login')}`);
    await measured.locator('summary').click();
    for (const colorScheme of SCHEMES) {
      await measured.emulateMedia({ colorScheme });
      // axe can't measure text that the menu covers.
      expect(await axeFaults(measured, WCAG, '.links')).toEqual([]);
    }
    expect(await measured.evaluate('document.documentElement.scrollWidth')).toBe(width);
    const menu = await measured.locator('.languages ul').boundingBox();
    expect(menu?.x).toBeGreaterThanOrEqual(0);
    expect(menu?.y).toBeGreaterThanOrEqual(0);
  });
});

const CONSENTS = ['consent document', 'consent device', 'consent document long words'];
it.each(CONSENTS)('MC-21: %s shows both hosts larger than the app’s own texts, and first', async (title) => {
  await measured.goto(`/0/${indexOf(title)}`);
  const [host, destination, name] = await measured.evaluate<{ size: number; top: number }[]>(
    `['h1 strong', '.destination strong', '.claims strong'].map((selector) => {
      const element = document.querySelector(selector);
      const { top } = element.getBoundingClientRect();
      return { size: parseFloat(getComputedStyle(element).fontSize), top };
    })`,
  );
  for (const certain of [host, destination]) {
    expect(certain?.size).toBeGreaterThan(name?.size ?? Infinity);
    expect(certain?.top).toBeLessThan(name?.top ?? 0);
  }
});

describe('the script of the pages', () => {
  it('shows the password when asked, and hides it again before it is sent', async () => {
    await measured.goto(`/0/${indexOf('login minimal')}`);
    // Otherwise a slow browser complains that `autofocus` comes too late.
    await measured.waitForFunction('document.activeElement !== document.body');
    const password = measured.getByLabel('Password', { exact: true });
    const reveal = measured.getByRole('button', { name: 'Show password' });
    await password.fill('secret');
    expect(await password.getAttribute('type')).toBe('password');
    await reveal.click();
    expect([await password.getAttribute('type'), await reveal.getAttribute('aria-pressed')]).toEqual([
      'text',
      'true',
    ]);
    expect(await measured.evaluate('document.activeElement.id')).toBe('password');
    await keepPicture('login with a shown password', 'light', 'desktop');
    expect(await faultsOf()).toEqual([]);
    await reveal.press('Enter');
    expect(await password.getAttribute('type')).toBe('password');
    await reveal.press('Space');
    await measured.evaluate(
      'document.forms[0].addEventListener("submit", (event) => event.preventDefault()); document.forms[0].username.value = "x"; document.forms[0].requestSubmit()',
    );
    expect(await password.getAttribute('type')).toBe('password');
  });

  it('says when Caps Lock is on, to a screen reader too, and only then', async () => {
    await measured.goto(`/0/${indexOf('login minimal')}`);
    const hint = measured.getByRole('status');
    const press = (isOn: boolean) =>
      measured.evaluate(
        `document.getElementById('password').dispatchEvent(new KeyboardEvent('keydown', { key: 'a', modifierCapsLock: ${isOn} }))`,
      );
    expect(await hint.innerText()).toBe('');
    await press(true);
    expect(await hint.innerText()).toBe('Caps Lock is on');
    expect(await faultsOf()).toEqual([]);
    await press(false);
    expect(await hint.innerText()).toBe('');
  });

  describe('the field of a code', () => {
    const field = () => measured.getByLabel('Code from your authenticator app');
    const sent = () => measured.evaluate('window.sent');

    beforeEach(async () => {
      await measured.goto(`/0/${indexOf('second-step')}`);
      // Counts each form that is sent, and lets it be sent again.
      await measured.evaluate(`sessionStorage.clear(); window.sent = [];
        document.addEventListener('submit', (event) => {
          if (!event.defaultPrevented) window.sent.push(event.target.elements.code.value);
          event.preventDefault();
          delete event.target.dataset.sent;
        });`);
      await field().focus();
    });

    async function paste(text: string): Promise<void> {
      await measured.evaluate('document.querySelector("details").open = true');
      await measured.getByLabel('Recovery code').fill(text);
      for (const keys of ['ControlOrMeta+A', 'ControlOrMeta+C']) await measured.keyboard.press(keys);
      await field().focus();
      for (const keys of ['ControlOrMeta+A', 'ControlOrMeta+V']) await measured.keyboard.press(keys);
    }

    it('says that it sends its form, to a screen reader too', async () => {
      const hint = 'Submits automatically after the sixth digit.';
      expect(await measured.getByText(hint).isVisible()).toBe(true);
      expect(await field().getAttribute('aria-describedby')).toContain('code-hint');
      await scriptless.goto(`/0/${indexOf('second-step')}`);
      expect(await scriptless.getByText(hint).isVisible()).toBe(false);
    });

    it('sends once what is typed without a correction', async () => {
      await measured.keyboard.type('123 45');
      expect(await sent()).toEqual([]);
      await measured.keyboard.type('6');
      expect(await sent()).toEqual(['123 456']);
      await measured.keyboard.type(' ');
      expect(await sent()).toHaveLength(1);
    });

    it.each([
      ['a digit that was deleted', ['1', '2', '3', '4', '5', 'Backspace', '5', '6']],
      ['all digits deleted', ['1', '2', 'ControlOrMeta+A', 'Backspace', '1', '2', '3', '4', '5', '6']],
      ['a digit put between others', ['1', '3', '4', '5', 'Home', 'ArrowRight', '2', 'End', '6']],
      ['a letter that was deleted', ['1', '2', '3', '4', '5', 'x', 'Backspace', '6']],
    ])('leaves a corrected code to the button: %s', async (_, keys) => {
      for (const key of keys) await measured.keyboard.press(key);
      expect(await sent()).toEqual([]);
      expect((await field().inputValue()).length).toBe(6);
      await measured.keyboard.press('Enter');
      expect(await sent()).toHaveLength(1);
    });

    it('sends what is pasted, also after a correction', async () => {
      for (const key of ['1', 'Backspace']) await measured.keyboard.press(key);
      await paste('123 456');
      expect(await sent()).toEqual(['123 456']);
      await paste('12345');
      expect(await sent()).toHaveLength(1);
    });

    it('sends what the browser fills in', async () => {
      await measured.keyboard.insertText('123456');
      await field().fill('654321');
      expect(await sent()).toEqual(['123456', '654321']);
    });

    it('sends no code twice, nor on the page that refuses it', async () => {
      await paste('123456');
      await paste('123456');
      await field().fill('123456');
      expect(await sent()).toEqual(['123456']);
      await measured.goto(`/0/${indexOf('second-step wrong_code')}`);
      await field().fill('123456');
      // A sent form would have changed the URL.
      expect(await field().inputValue()).toBe('123456');
      expect(new URL(measured.url()).pathname).toBe(`/0/${indexOf('second-step wrong_code')}`);
    });
  });

  it('is not needed: without it the button that shows the password is not there', async () => {
    await scriptless.goto(`/0/${indexOf('login minimal')}`);
    expect(await scriptless.locator('.reveal').isVisible()).toBe(false);
    expect(await scriptless.getByRole('button').allInnerTexts()).toEqual(['Sign in', 'Cancel']);
  });

  it('blocks no paste', async () => {
    await measured.goto(`/0/${indexOf('login minimal')}`);
    for (const field of ['username', 'password']) {
      const isAllowed = await measured.evaluate(
        `document.getElementById('${field}').dispatchEvent(new ClipboardEvent('paste', { bubbles: true, cancelable: true }))`,
      );
      expect(isAllowed, field).toBe(true);
    }
  });
});

describe('second factors', () => {
  const OFFERING = [
    'login',
    'link password',
    'second-step',
    'enrol passkey',
    'factors list passkey',
    'link factors',
  ];
  it.each(OFFERING)('"%s" offers passkeys with scripts, and else says what they need', async (title) => {
    for (const [page, hasScripts] of [
      [measured, true],
      [scriptless, false],
    ] as const) {
      await page.goto(`/0/${indexOf(title)}`);
      expect(await page.locator('[data-passkey]').isVisible()).toBe(hasScripts);
      expect(await page.getByText('or', { exact: true }).isVisible()).toBe(
        hasScripts && /^login|second-step/.test(title),
      );
      // With a password field, the page doesn't say what passkeys need.
      const sentence = page.locator('noscript p').filter({ visible: true });
      expect(await sentence.count()).toBe(hasScripts || /^login|link password/.test(title) ? 0 : 1);
    }
  });

  it.each([
    ['login', 'Username'],
    ['second-step', 'Code from your authenticator app'],
  ])('"%s" has the button of a passkey first', async (title, label) => {
    await measured.goto(`/0/${indexOf(title)}`);
    const boxes = [measured.getByRole('button', { name: /passkey/ }), measured.getByLabel(label)];
    const [button, field] = await Promise.all(boxes.map((one) => one.boundingBox()));
    expect(button?.y).toBeLessThan(field?.y ?? 0);
    expect(await measured.locator('[data-passkey] svg[aria-hidden]').isVisible()).toBe(true);
  });

  it('a browser that is too old for passkeys says so, where they are all that there is', async () => {
    await measured.goto(`/0/${indexOf('second-step passkey alone')}`);
    const sentence = measured.getByText('Passkeys aren’t available in this browser.');
    expect(await sentence.isVisible()).toBe(false);
    const old = await (await browser.newContext({ baseURL: new URL(measured.url()).origin })).newPage();
    await old.addInitScript('delete PublicKeyCredential.parseRequestOptionsFromJSON');
    await old.goto(`/0/${indexOf('second-step passkey alone')}`);
    await old.getByText('Passkeys aren’t available in this browser.').waitFor();
    expect(await old.locator('[data-passkey]').isVisible()).toBe(false);
    await old.context().close();
  });

  /** Shades in a row through the upper edge of two corners of the QR code: four modules of margin, then black. */
  async function shades(): Promise<number[]> {
    const seen = (await measured.locator('.qr').screenshot()).toString('base64');
    return measured.evaluate<number[]>(`(async () => {
      const image = new Image();
      image.src = 'data:image/png;base64,${seen}';
      await image.decode();
      const canvas = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height });
      const context = canvas.getContext('2d', { willReadFrequently: true });
      context.drawImage(image, 0, 0);
      const one = image.width / 53;
      return [2, 4.5, 10.5, 11.5, 48.5, 51].map((at) => context.getImageData(at * one, 4.5 * one, 1, 1).data[0]);
    })()`);
  }

  it('the picture for the app is black on white with a white margin, light and dark', async () => {
    const codes = createOneTimeCodes({ vault: worldVault(), issuer: 'Acme ID' });
    const { qr } = await codes.make('id', 'alice');
    for (const colorScheme of SCHEMES) {
      await measured.emulateMedia({ colorScheme });
      await measured.goto(`/0/${indexOf('enrol')}`);
      await measured.evaluate(
        `(() => { const image = document.querySelector('.qr'); image.src = '${qr}'; return image.decode(); })()`,
      );
      // A screenshot may still show the previous frame.
      await expect.poll(shades, { message: colorScheme, timeout: 20_000 }).toEqual([255, 0, 0, 255, 0, 255]);
    }
  });

  it('recovery codes are printed whole, without what only a screen has', async () => {
    await measured.goto(`/0/${indexOf('factors codes')}`);
    await measured.emulateMedia({ media: 'print' });
    await keepPicture('factors codes on paper', 'light', 'desktop');
    const shown = (await measured.locator('body').innerText()).split('\n').filter((line) => line !== '');
    const state = PAGE_STATES[indexOf('factors codes')]?.model;
    const codes = state !== undefined && 'codes' in state ? state.codes : [];
    expect(codes).toHaveLength(10);
    expect(shown.slice(-10)).toEqual(codes);
    expect(shown).toContain('Acme ID');
    expect(shown.join(' ')).toContain('alice');
    await measured.emulateMedia({ media: 'screen' });
    expect(await measured.getByRole('link', { name: 'I’ve saved my codes' }).isVisible()).toBe(true);
  });

  it('recovery codes are copied, downloaded and printed where scripts run, under the policy of the pages', async () => {
    const permissions = ['clipboard-read', 'clipboard-write'];
    const { origin } = new URL(scriptless.url());
    const context = await browser.newContext({ baseURL: origin, permissions });
    const page = await context.newPage();
    page.on('console', (message) => complaints.push(message.text()));
    await page.addInitScript('window.print = () => { window.printed = true; }');
    await page.goto(`/0/${indexOf('factors codes')}`);
    const state = PAGE_STATES[indexOf('factors codes')]?.model;
    const codes = state !== undefined && 'codes' in state ? state.codes : [];
    const button = (name: string) => page.getByRole('button', { name, exact: true });
    await button('Copy').click();
    await button('Copied').waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(codes.join('\n'));
    const [download] = await Promise.all([page.waitForEvent('download'), button('Download').click()]);
    expect(download.suggestedFilename()).toBe('recovery-codes.txt');
    expect(readFileSync(await download.path(), 'utf8')).toBe(`Acme ID, alice\n\n${codes.join('\n')}\n`);
    await button('Print').click();
    expect(await page.evaluate('window.printed')).toBe(true);
    await context.close();
    await scriptless.goto(`/0/${indexOf('factors codes')}`);
    expect(await scriptless.getByRole('button').count()).toBe(0);
  });

  it.each(['enrol', 'factors list one_time_code'])('%s offers an app on touch screens', async (title) => {
    await measured.goto(`/0/${indexOf(title)}`);
    expect(await measured.locator('a[href$="/uri"]').isVisible()).toBe(false);
  });

  it('recovery codes are in two columns where two fit', async () => {
    await measured.goto(`/0/${indexOf('factors codes')}`);
    const columns = () =>
      measured.evaluate<number>(
        "new Set([...document.querySelectorAll('.codes li')].map((li) => li.getBoundingClientRect().left)).size",
      );
    expect(await columns()).toBe(2);
    await measured.setViewportSize({ width: 320, height: 640 });
    expect(await columns()).toBe(1);
  });

  it('a code is read from left to right in every language', async () => {
    await measured.goto(`/0/${indexOf('second-step wrong_recovery_code')}?lang=ar`);
    expect(
      await measured.evaluate(
        "[...document.querySelectorAll('input[type=text]')].map((input) => getComputedStyle(input).direction)",
      ),
    ).toEqual(['ltr', 'ltr']);
    await measured.goto(`/0/${indexOf('factors codes')}?lang=ar`);
    expect(await measured.evaluate("getComputedStyle(document.querySelector('.codes code')).direction")).toBe(
      'ltr',
    );
  });
});

describe('the account page', () => {
  it.each([
    [800, true],
    [799, false],
    [320, false],
  ])('at %s px: the content is beside the name of its section: %s', async (width, isBeside) => {
    await measured.setViewportSize({ width, height: 800 });
    await measured.goto(`/0/${indexOf('account page')}`);
    const beside = await measured.evaluate<
      boolean[]
    >(`[...document.querySelectorAll('.columns')].map((section) => {
      const [name, content] = [...section.children].map((child) => child.getBoundingClientRect());
      return name.right <= content.left;
    })`);
    expect(beside).toEqual(Array.from({ length: 7 }, () => isBeside));
    expect(await measured.evaluate('document.documentElement.scrollWidth')).toBe(width);
  });

  it('names each control by what it changes, and opens the form of the password without a script', async () => {
    await scriptless.goto(`/0/${indexOf('account page')}`);
    for (const name of [
      'Sign out Safari on iPhone, November 23, 2026 at 1:55 AM UTC',
      'Remove access for Wiki',
    ])
      expect(await scriptless.getByRole('button', { name, exact: true }).count(), name).toBeGreaterThan(0);
    for (const name of ['Manage Authenticator app', 'Manage Recovery codes'])
      expect(await scriptless.getByRole('link', { name, exact: true }).count(), name).toBe(1);
    const password = scriptless.getByLabel('Current password');
    expect(await password.isVisible()).toBe(false);
    await scriptless.locator('summary').filter({ hasText: 'Password' }).click();
    expect(await password.isVisible()).toBe(true);
  });
});

it.each(COLORS.slice(1))('a brand color %s keeps contrast, light and dark, and on hover', async (color) => {
  await measured.goto(`/${COLORS.indexOf(color)}/${indexOf('login minimal')}`);
  const [red, green, blue] = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
  expect(
    await measured.evaluate("getComputedStyle(document.querySelector('.primary')).backgroundColor"),
  ).toBe(`rgb(${red}, ${green}, ${blue})`);

  for (const colorScheme of ['light', 'dark'] as const) {
    await measured.emulateMedia({ colorScheme });
    await measured.mouse.move(0, 0);
    expect(await faultsOf(CONTRAST)).toEqual([]);
    await measured.getByRole('button', { name: 'Sign in' }).hover();
    expect(await faultsOf(CONTRAST)).toEqual([]);
  }
});

describe('a logo', () => {
  const mark = () => measured.locator('.brand-mark');
  /** Whether a user can see it: a browser also calls an element visible that its frame cuts off. */
  const isSeen = (selector: string) =>
    measured.evaluate(
      `((one, frame) => one.height > 0 && one.top < frame.bottom)(...['${selector}', '.brand'].map((name) => document.querySelector(name).getBoundingClientRect()))`,
    );

  it('stands in the place of letter and name, which are there where it does not load', async () => {
    await measured.goto(`/${WITH_LOGO}/${indexOf('login minimal')}`);
    expect([await isSeen('.brand-logo'), await isSeen('.brand-mark')]).toEqual([true, false]);
    expect(await faultsOf()).toEqual([]);
    await measured.goto(`/${WITHOUT_ITS_LOGO}/${indexOf('login minimal')}`);
    expect([await isSeen('.brand-logo'), await isSeen('.brand-mark')]).toEqual([false, true]);
    expect(await mark().innerText()).toBe('A');
    expect(await faultsOf()).toEqual([]);
  });

  it('of an app that does not load leaves the letter of the app', async () => {
    const boxes = () =>
      Promise.all(['.client-logo', '.client-mark'].map((name) => measured.locator(name).boundingBox()));
    await measured.goto(`/0/${indexOf('login')}`);
    const [frame, letter] = await boxes();
    expect(letter?.y).toBe((frame?.y ?? 0) + 56);
    await measured.goto(`/0/${indexOf('login')}?broken`);
    const [same, moved] = await boxes();
    expect([same, moved]).toEqual([frame, frame]);
    expect(await faultsOf()).toEqual([]);
  });
});

describe('the keyboard', () => {
  const focused =
    'document.activeElement.id || document.activeElement.ariaLabel || document.activeElement.textContent.trim()';

  /** A browser applies `autofocus` when it draws the page, which may be after it has loaded. */
  async function goAndWait(page: string): Promise<void> {
    await measured.goto(`/0/${indexOf(page)}`);
    await measured.waitForFunction('document.activeElement !== document.body');
  }

  it('starts in the username, goes on in the order of the page, and shows where it is', async () => {
    await goAndWait('login minimal');
    const seen: unknown[] = [];
    for (let step = 0; step < 5; step += 1) {
      seen.push(await measured.evaluate(focused));
      expect(await measured.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
      await measured.keyboard.press('Tab');
    }
    expect(seen).toEqual(['username', 'password', 'Show password', 'Sign in', 'Cancel']);
  });

  it('starts in the code of the second step, and opens the way by a recovery code', async () => {
    await goAndWait('second-step');
    expect(await measured.evaluate(focused)).toBe('code');
    await measured.keyboard.press('Tab');
    expect(await measured.evaluate(focused)).toBe('Sign in');
    await measured.keyboard.press('Tab');
    expect(await measured.evaluate(focused)).toBe('Use a recovery code instead');
    await measured.keyboard.press('Enter');
    await measured.keyboard.press('Tab');
    expect(await measured.evaluate(focused)).toBe('recovery_code');
    expect(await faultsOf()).toEqual([]);
  });

  it.each([
    ['second-step wrong_code', 'code'],
    ['second-step wrong_recovery_code', 'recovery_code'],
    ['enrol wrong_code', 'code'],
  ])('starts in the field that was wrong, which says why: %s', async (page, field) => {
    await goAndWait(page);
    expect(await measured.evaluate(focused)).toBe(field);
    const [described = '', alert] = await measured.evaluate<string[]>(`[
      document.activeElement.getAttribute('aria-describedby').split(' ').map((id) => document.getElementById(id).textContent.trim()).join(' '),
      document.querySelector('[role=alert]').textContent.trim(),
    ]`);
    expect(described).toContain(alert);
    expect(await measured.locator('[aria-invalid=true]').count()).toBe(1);
  });

  it('starts in the password when the username is known', async () => {
    await goAndWait('login invalid_credentials');
    expect(await measured.evaluate(focused)).toBe('password');
  });
});
