// Reads the built-in views, and the operator's over them. Each file stays in its last good form; a page that can't be rendered
// keeps the one before. pages.ts renders the result.
import { existsSync, readFileSync } from 'node:fs';
import { COLORS_CSS } from './assets.ts';
import { type BrandingModel, PAGE_NAMES, type PageModels, type PageName } from './models.ts';
import { PAGE_STATES } from './samples.ts';
import { compileTemplates, type Template, type TemplateSet, type TemplateSource } from './templates.ts';
import { createTexts, loadLocaleFiles, type LocaleFiles, type Texts } from './texts.ts';
import { listViewFiles, type ViewsSettings, BUILT_IN_FOLDER } from './view-files.ts';

export type ViewsOptions = ViewsSettings & {
  /** Instead of the folder that comes with the service. */
  readonly builtInFolder?: string;
  /** Name of a file in `assets/` -> URL with an absolute path. Throws for a name that it doesn't know. */
  readonly assetUrl: (name: string) => string;
  readonly hasAsset?: (name: string) => boolean;
};

export type Report = (file: string, cause: unknown) => void;

/** Everything that was read from files at one time. */
export type LoadedViews = {
  readonly texts: Texts;
  readonly customTexts: LocaleFiles;
  readonly branding: BrandingModel;
  readonly stylesheets: readonly string[];
  /** The operator's templates by name, each in its last good form. */
  readonly custom: ReadonlyMap<string, Template>;
};

export type Generation = LoadedViews & {
  /** What each page is rendered with; the built-in set where the operator's failed. */
  readonly sets: ReadonlyMap<PageName, TemplateSet>;
};

export type BuiltIn = { readonly templates: TemplateSet; readonly texts: LocaleFiles };

/** Renders one page with sample data, to see whether it can be. */
type TryRender = <N extends PageName>(
  views: LoadedViews,
  set: TemplateSet,
  page: N,
  model: PageModels[N],
) => string;

function refuse(file: string, cause: unknown): never {
  throw new Error(`A built-in view is broken: ${file}`, { cause });
}

export function loadBuiltIn(folder = BUILT_IN_FOLDER): BuiltIn {
  const templates = loadTemplates(folder, refuse);
  const missing = PAGE_NAMES.filter((name) => !templates.has(`${name}.ejs`));
  if (missing.length > 0) throw new Error(`${folder} lacks the views ${missing.join(', ')}`);
  return { templates, texts: loadLocaleFiles(folder, refuse) };
}

type Loading = {
  readonly builtIn: BuiltIn;
  readonly report: Report;
  readonly render: TryRender;
  readonly previous?: Generation | undefined;
};

/** The one step that reads the operator's files. */
export function loadGeneration(options: ViewsOptions, loading: Loading): Generation {
  const { builtIn, report, previous } = loading;
  const { overrideFolder: folder } = options;
  if (folder !== undefined && !existsSync(folder)) report(folder, 'The folder of your views does not exist');
  const custom = new Map(folder === undefined ? [] : loadTemplates(folder, report, previous?.custom));
  const customTexts = folder === undefined ? new Map() : loadTexts(folder, report, previous?.customTexts);
  const read = {
    custom,
    customTexts,
    texts: createTexts(builtIn.texts, customTexts),
    branding: resolveBranding(options, report),
    stylesheets: stylesheetsOf(options),
  };
  return { ...read, sets: custom.size === 0 ? new Map() : tryOut(read, loading) };
}

/** Renders each page in every state with sample data: what fails is found now, and not when a person comes. */
function tryOut(read: LoadedViews, { builtIn, report, render, previous }: Loading): Generation['sets'] {
  const whole = new Map([...builtIn.templates, ...read.custom]);
  const sets = new Map<PageName, TemplateSet>();
  for (const page of PAGE_NAMES) {
    try {
      for (const { name, model } of PAGE_STATES) {
        if (name === page) render(read, whole, page, model);
      }
      sets.set(page, whole);
    } catch (cause) {
      report(`${page}.ejs`, cause);
      sets.set(page, previous?.sets.get(page) ?? builtIn.templates);
    }
  }
  return sets;
}

function loadTemplates(
  folder: string,
  onBroken: Report,
  lastGood: ReadonlyMap<string, Template> = new Map(),
): TemplateSet {
  const sources: TemplateSource[] = [];
  const names: string[] = [];
  for (const [name, file] of attempt(folder, () => listViewFiles(folder), onBroken) ?? []) {
    if (!name.endsWith('.ejs')) continue;
    names.push(name);
    const text = attempt(file, () => readFileSync(file, 'utf8'), onBroken);
    if (text !== undefined) sources.push({ name, file, text: text.replace(/^\uFEFF/, '') });
  }
  const compiled = compileTemplates(sources, onBroken);
  return new Map(
    names.flatMap((name) => {
      const template = compiled.get(name) ?? lastGood.get(name);
      return template === undefined ? [] : [[name, template] as const];
    }),
  );
}

function loadTexts(folder: string, report: Report, lastGood: LocaleFiles = new Map()): LocaleFiles {
  const broken = new Map<string, string>();
  const files = attempt(
    folder,
    () =>
      loadLocaleFiles(folder, (file, cause) => {
        broken.set(/([^/\\]+)\.json$/.exec(file)?.[1] ?? '', file);
        report(file, cause);
      }),
    report,
  );
  const kept = [...broken.keys()].flatMap((locale) => {
    const good = lastGood.get(locale);
    return good === undefined ? [] : [[locale, good] as const];
  });
  return new Map([...(files ?? []), ...kept]);
}

function attempt<T>(file: string, read: () => T, onBroken: Report): T | undefined {
  try {
    return read();
  } catch (cause) {
    onBroken(file, cause);
    return undefined;
  }
}

function stylesheetsOf({ assetUrl, hasAsset = () => false, branding }: ViewsOptions): readonly string[] {
  // The operator's own rules come last, so that they win.
  const names = ['style.css', ...(branding.color === undefined ? [] : [COLORS_CSS])];
  return [...names, ...['branding.css'].filter(hasAsset)].map(assetUrl);
}

/** Each image is a URL, or the name of a file in `assets/`; templates always get a URL. */
function resolveBranding({ branding, assetUrl }: ViewsOptions, report: Report): BrandingModel {
  function urlOf(image: string | undefined): string | undefined {
    if (image === undefined || /^(?:https?:|data:|\/)/.test(image)) return image;
    return attempt(image, () => assetUrl(image), report);
  }
  const { logo, logoDark, favicon, ...rest } = branding;
  return {
    ...rest,
    logo: urlOf(logo),
    logoDark: urlOf(logoDark),
    favicon: urlOf(favicon) ?? assetUrl('icon.svg'),
  };
}
