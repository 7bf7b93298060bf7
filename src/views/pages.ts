// Renders a page from its typed model. If an administrator's template fails, it renders the built-in page.
import { type LoadedViews, loadViews, type Report, type ViewsOptions } from './load-views.ts';
import { chooseLocale, DEFAULT_LOCALE, directionOf, type LanguageWishes } from './locale.ts';
import type { PageContext, PageModels, PageName } from './models.ts';
import { renderTemplate, type TemplateSet } from './templates.ts';
import { toDelayText, toTimeText } from './time-text.ts';
import { fill, toParts, type Texts, type TextValues } from './texts.ts';

/** Something is wrong with a view; users are served the built-in page instead. */
export type ViewProblem = Readonly<{
  /** The file that can't be read or compiled, the page that can't be rendered, or the missing folder. */
  file: string;
  message: string;
  cause?: unknown;
}>;

export type PagesOptions = ViewsOptions & {
  /** Called once for each different problem. */
  readonly onProblem: (problem: ViewProblem) => void;
};

export type RenderContext = Readonly<{
  locale: string;
  /** This page in another language; absent if the page can't be requested again. */
  languageUrl?: ((locale: string) => string) | undefined;
}>;

export type Pages = ReturnType<typeof createPages>;

// A message can contain a user's input; this limits the memory for messages, and how often they are logged.
const MAX_REPORTED = 100;
const MAX_MESSAGE_LENGTH = 2000;

/** Rendering touches no file. Throws when a built-in view is broken. */
export function createPages(options: PagesOptions) {
  const report = reportOnce(options.onProblem);
  const views = loadViews(options, report);
  const { builtIn, custom, texts } = views;
  const whole = new Map([...builtIn, ...custom]);

  function render(
    set: TemplateSet,
    page: PageName,
    model: PageModels[PageName],
    { locale, languageUrl }: RenderContext,
  ): string {
    const known = texts.locales.includes(locale) ? locale : DEFAULT_LOCALE;
    return renderTemplate(set, `${page}.ejs`, {
      ...localsOf(views, known, report),
      page,
      model,
      languages: toLanguages(texts, known, languageUrl),
      asset: options.assetUrl,
    });
  }

  /** Returns undefined if the administrator's templates fail. */
  function renderCustom(page: PageName, ...of: [PageModels[PageName], RenderContext]): string | undefined {
    try {
      return render(whole, page, ...of);
    } catch (cause) {
      report(`${page}.ejs`, cause);
      return undefined;
    }
  }

  return {
    render: <N extends PageName>(name: N, model: PageModels[N], context: RenderContext): string =>
      renderCustom(name, model, context) ?? render(builtIn, name, model, context),
    localeFor: (wishes: LanguageWishes) => chooseLocale(wishes, texts.locales),
    /** Returns a text as the templates get it; undefined for a key that no language has. */
    text: (locale: string, key: string) => texts.find(locale, key),
    /** The same members that templates get in this language, for texts outside of pages. */
    words: (locale: string) => localsOf(views, locale, report),
  };
}

function reportOnce(onProblem: PagesOptions['onProblem']): Report {
  const reported = new Set<string>();
  return (file, cause) => {
    // EJS writes the reason last, after the place in each including template.
    const message = String(cause instanceof Error ? cause.message : cause).slice(-MAX_MESSAGE_LENGTH);
    const key = `${file}\n${message}`;
    if (reported.has(key) || reported.size >= MAX_REPORTED) return;
    reported.add(key);
    onProblem({ file, message, cause });
  };
}

function localsOf({ texts, branding, stylesheets }: LoadedViews, locale: string, report: Report) {
  function textOf(key: string, values: TextValues): string {
    const count = Object.hasOwn(values, 'count') ? Number(values['count']) : undefined;
    const text = texts.find(locale, key, count);
    if (text === undefined) report(`locales/${locale}.json`, `There is no text ${key}`);
    return text ?? key;
  }
  return {
    locale,
    dir: directionOf(locale),
    branding,
    stylesheets,
    t: (key: string, values: TextValues = {}) => fill(textOf(key, values), values),
    parts: (key: string, values: TextValues = {}) => toParts(textOf(key, values), values),
    /** A time of a model (epoch seconds), in UTC. */
    time: (at: number) => toTimeText(at, locale),
    /** "in 3 hours", of minutes in a model. */
    delay: (minutes: number) => toDelayText(minutes, locale),
    /** "Chrome, Windows" of a model -> "Chrome on Windows". */
    browserName: (text: string) => {
      const [browser = '', system] = text.split(', ');
      return system === undefined
        ? browser
        : fill(textOf('browser.on', { browser, system }), { browser, system });
    },
  };
}

function toLanguages(
  texts: Texts,
  current: string,
  url: RenderContext['languageUrl'],
): PageContext['languages'] {
  if (!url || texts.locales.length < 2) return [];
  return texts.locales.map((locale) => ({
    locale,
    name: texts.nameOf(locale),
    current: locale === current,
    href: url(locale),
  }));
}
