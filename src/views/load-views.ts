// Reads the built-in views, and the administrator's over them, file by file. pages.ts renders the result.
import { existsSync, readFileSync } from 'node:fs';
import { COLORS_CSS, ICON } from './assets.ts';
import type { BrandingModel } from './models.ts';
import { compileTemplate, type Template, type TemplateSet } from './templates.ts';
import { createTexts, loadLocaleFiles } from './texts.ts';
import { listViewFiles, type ViewsSettings, BUILT_IN_FOLDER } from './view-files.ts';

export type ViewsOptions = ViewsSettings & {
  /** Name of a file in `assets/` -> URL with an absolute path. Throws for an unknown name. */
  readonly assetUrl: (name: string) => string;
  readonly hasAsset?: (name: string) => boolean;
};

export type Report = (file: string, cause: unknown) => void;

/** Everything that was read from files at one time. */
export type LoadedViews = ReturnType<typeof loadViews>;

const NO_TEMPLATES: TemplateSet = new Map();

function refuse(file: string, cause: unknown): never {
  throw new Error(`A built-in view is broken: ${file}`, { cause });
}

/** Reports and skips broken custom views. Throws if a built-in view is broken. */
export function loadViews(options: ViewsOptions, report: Report) {
  const { overrideFolder: folder } = options;
  const builtIn = loadTemplates(BUILT_IN_FOLDER, refuse);
  if (folder !== undefined && !existsSync(folder)) report(folder, 'The folder of your views does not exist');
  const texts = folder && attempt(folder, () => loadLocaleFiles(folder, report), report);
  return {
    builtIn,
    /** The administrator's templates. */
    custom: folder === undefined ? NO_TEMPLATES : loadTemplates(folder, report),
    texts: createTexts(loadLocaleFiles(BUILT_IN_FOLDER, refuse), texts || new Map()),
    branding: resolveBranding(options, report),
    stylesheets: stylesheetsOf(options),
  };
}

function loadTemplates(folder: string, onBroken: Report): TemplateSet {
  const templates = new Map<string, Template>();
  for (const [name, file] of attempt(folder, () => listViewFiles(folder), onBroken) ?? []) {
    if (!name.endsWith('.ejs')) continue;
    const template = attempt(file, () => compileTemplate(readFileSync(file, 'utf8'), file), onBroken);
    if (template) templates.set(name, template);
  }
  return templates;
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
  // The administrator's styles come last, so that they take precedence.
  const names = ['style.css', ...(branding.color === undefined ? [] : [COLORS_CSS])];
  return [...names, ...['branding.css'].filter(hasAsset)].map(assetUrl);
}

/** Each image is a URL, or the name of a file in `assets/`; templates always get a URL. */
function resolveBranding({ branding, assetUrl }: ViewsOptions, report: Report): BrandingModel {
  function urlOf(image: string | undefined): string | undefined {
    if (image === undefined || /^(?:https?:|data:|\/)/.test(image)) return image;
    return attempt(image, () => assetUrl(image), report);
  }
  const { logo, ...rest } = branding;
  return { ...rest, logo: urlOf(logo), favicon: assetUrl(ICON) };
}
