// Renders a page from its typed model. A template of the operator's that fails is replaced by its last good form, then by the
// built-in page.
import { loadBuiltIn, loadGeneration } from './load-views.ts';
import type { BuiltIn, Generation, LoadedViews, Report, ViewsOptions } from './load-views.ts';
import { chooseLocale, DEFAULT_LOCALE, directionOf, type LanguageWishes } from './locale.ts';
import type { PageContext, PageModels, PageName } from './models.ts';
import { renderTemplate, type TemplateLocals, type TemplateSet } from './templates.ts';
import { fill, toParts, type Texts } from './texts.ts';
import type { ViewsSettings } from './view-files.ts';

/** Something is wrong with a view; people are served its last good form or the built-in page instead. */
export type ViewProblem = {
  /** The file that can't be read or compiled, the page that can't be rendered, or the folder that isn't there. */
  readonly file: string;
  readonly message: string;
  readonly cause?: unknown;
};

export type PagesOptions = ViewsOptions & {
  /** Called once for each different problem, and again after a reload that didn't repair it. */
  readonly onProblem: (problem: ViewProblem) => void;
};

export type RenderContext = {
  readonly locale: string;
  /** This page in another language; absent where it can't be asked for again. */
  readonly languageUrl?: ((locale: string) => string) | undefined;
};

export interface Pages {
  render<N extends PageName>(name: N, model: PageModels[N], context: RenderContext): string;
  localeFor(wishes: LanguageWishes): string;
  /** A text as the templates get it; undefined for a key that no language has. */
  text(locale: string, key: string): string | undefined;
  /** The pages as the operator's files are now. What is broken keeps its last good form, and is reported. */
  reloaded(changed: ViewsSettings & Partial<Pick<ViewsOptions, 'assetUrl' | 'hasAsset'>>): Pages;
}

// A message can hold what a person typed; this bounds the memory that messages cost, and how often they are logged.
const MAX_REPORTED = 100;
const MAX_MESSAGE_LENGTH = 2000;

/** Reads and compiles all templates now; rendering touches no file. Throws when the built-in views aren't whole. */
export function createPages(
  options: PagesOptions,
  builtIn: BuiltIn = loadBuiltIn(options.builtInFolder),
  previous?: Generation,
): Pages {
  const { assetUrl } = options;
  const report = reportOnce(options.onProblem);

  function render(
    views: LoadedViews,
    set: TemplateSet,
    page: PageName,
    model: PageModels[PageName],
    { locale, languageUrl }: RenderContext = { locale: DEFAULT_LOCALE, languageUrl: () => '' },
  ): string {
    const known = views.texts.locales.includes(locale) ? locale : DEFAULT_LOCALE;
    return renderTemplate(set, `${page}.ejs`, {
      ...localsOf(views, known, report),
      page,
      model,
      languages: toLanguages(views.texts, known, languageUrl),
      asset: assetUrl,
    });
  }

  const current = loadGeneration(options, { builtIn, report, render, previous });

  return {
    render(name, model, context) {
      const set = current.sets.get(name) ?? builtIn.templates;
      if (set !== builtIn.templates) {
        try {
          return render(current, set, name, model, context);
        } catch (cause) {
          report(`${name}.ejs`, cause);
        }
      }
      if (name !== 'error') return render(current, builtIn.templates, name, model, context);
      try {
        return render(current, builtIn.templates, name, model, context);
      } catch (cause) {
        report(`${name}.ejs`, cause);
        return lastResortPage('requestId' in model ? String(model.requestId) : '');
      }
    },
    localeFor: (wishes) => chooseLocale(wishes, current.texts.locales),
    text: (locale, key) => current.texts.find(locale, key),
    reloaded: (changed) => createPages({ ...options, ...changed }, builtIn, current),
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

function localsOf(
  { texts, branding, stylesheets }: LoadedViews,
  locale: string,
  report: Report,
): Pick<TemplateLocals, 't' | 'parts'> & Pick<PageContext, 'locale' | 'dir' | 'branding' | 'stylesheets'> {
  function textOf(key: string): string {
    const text = texts.find(locale, key);
    if (text === undefined) report(`locales/${locale}.json`, `There is no text ${key}`);
    return text ?? key;
  }
  return {
    locale,
    dir: directionOf(locale),
    branding,
    stylesheets,
    t: (key, values = {}) => fill(textOf(key), values),
    parts: (key, values = {}) => toParts(textOf(key), values),
  };
}

function toLanguages(
  texts: Texts,
  current: string,
  url: RenderContext['languageUrl'],
): PageContext['languages'] {
  if (url === undefined || texts.locales.length < 2) return [];
  return texts.locales.map((locale) => ({
    locale,
    name: texts.nameOf(locale),
    current: locale === current,
    href: url(locale),
  }));
}

/** For when even the built-in error page can't be rendered: needs no template, stylesheet or branding. */
function lastResortPage(requestId: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Something went wrong</title>
  </head>
  <body>
    <main>
      <h1>Something went wrong</h1>
      <p>Please go back to the app and try again.</p>
      <p>Reference: <code>${escapeHtml(requestId)}</code></p>
    </main>
  </body>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
