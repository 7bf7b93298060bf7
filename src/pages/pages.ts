// Typed model -> HTML of a page, and what happens when an operator's template is broken. Owns the fallback; it sends
// nothing and knows no request.
import { existsSync, readFileSync } from 'node:fs';
import { lastResortPage } from './last-resort-page.ts';
import type { PageContext, PageModels, PageName } from './models.ts';
import { compileTemplates, renderTemplate } from './templates.ts';
import type { TemplateLocals, TemplateSet, TemplateSource } from './templates.ts';
import { listViewFiles } from './view-files.ts';

/** Something is wrong with a view; people are served the built-in page instead. */
export type ViewProblem = {
  /** The file that can't be read or compiled, the page that can't be rendered, or the folder that isn't there. */
  readonly file: string;
  readonly message: string;
  readonly cause?: unknown;
};

export type PagesOptions = {
  readonly builtInFolder: string;
  /** Its templates win over the built-in ones, file by file. */
  readonly overrideFolder?: string | undefined;
  readonly branding: PageContext['branding'];
  /** Name of a file in `assets/` -> URL with an absolute path. Throws for a name that it doesn't know. */
  readonly assetUrl: (name: string) => string;
  /** Called once for each different problem. */
  readonly onProblem: (problem: ViewProblem) => void;
};

export interface Pages {
  render<N extends PageName>(name: N, model: PageModels[N], context: Pick<PageContext, 'locale'>): string;
}

type Views = { readonly builtIn: TemplateSet; readonly custom?: TemplateSet | undefined };

const PAGE_NAMES = Object.keys({
  login: true,
  consent: true,
  logout: true,
  'logged-out': true,
  error: true,
  try: true,
} satisfies Record<PageName, true>);

// A message can hold what a person typed; this bounds the memory that messages cost, and how often they are told.
const MAX_REPORTED = 100;
const MAX_MESSAGE_LENGTH = 2000;

/** Reads and compiles all templates now; rendering touches no file. Throws when the built-in views aren't whole. */
export function createPages(options: PagesOptions): Pages {
  const report = reportOnce(options.onProblem);
  const views = loadViews(options, report);
  const branding = resolveBranding(options, report);

  return {
    render(name, model, { locale }) {
      const template = `${name}.ejs`;
      const locals: TemplateLocals = { page: name, model, branding, locale, asset: options.assetUrl };
      try {
        if (views.custom) return renderTemplate(views.custom, template, locals);
      } catch (cause) {
        report(template, cause);
      }
      if (name !== 'error') return renderTemplate(views.builtIn, template, locals);
      try {
        return renderTemplate(views.builtIn, template, locals);
      } catch (cause) {
        report(template, cause);
        return lastResortPage('requestId' in model ? model.requestId : '');
      }
    },
  };
}

type Report = (file: string, cause: unknown) => void;

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

/** The one step that reads templates. */
function loadViews({ builtInFolder, overrideFolder }: PagesOptions, report: Report): Views {
  const builtIn = loadTemplates(builtInFolder, refuse);
  const missing = PAGE_NAMES.filter((name) => !builtIn.has(`${name}.ejs`));
  if (missing.length > 0) throw new Error(`${builtInFolder} lacks the views ${missing.join(', ')}`);

  if (overrideFolder === undefined) return { builtIn };
  if (!existsSync(overrideFolder)) report(overrideFolder, 'The folder of your views does not exist');
  return { builtIn, custom: new Map([...builtIn, ...loadTemplates(overrideFolder, report)]) };
}

function refuse(file: string, cause: unknown): never {
  throw new Error(`A built-in view is broken: ${file}`, { cause });
}

function loadTemplates(folder: string, onBroken: Report): TemplateSet {
  const sources: TemplateSource[] = [];
  for (const [name, file] of attempt(folder, () => listViewFiles(folder), onBroken) ?? []) {
    if (!name.endsWith('.ejs')) continue;
    const text = attempt(file, () => readFileSync(file, 'utf8'), onBroken);
    if (text !== undefined) sources.push({ name, file, text: text.replace(/^\uFEFF/, '') });
  }
  return compileTemplates(sources, onBroken);
}

function attempt<T>(file: string, read: () => T, onBroken: Report): T | undefined {
  try {
    return read();
  } catch (cause) {
    onBroken(file, cause);
    return undefined;
  }
}

/** `branding.logo` is a URL, or the name of a file in `assets/`; templates always get a URL. */
function resolveBranding({ branding, assetUrl }: PagesOptions, report: Report): PageContext['branding'] {
  if (branding.logo === undefined || /^(?:https?:|data:|\/)/.test(branding.logo)) return branding;
  try {
    return { ...branding, logo: assetUrl(branding.logo) };
  } catch (cause) {
    report(branding.logo, cause);
    return { ...branding, logo: undefined };
  }
}
