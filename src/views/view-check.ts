// Checks an operator's views: each template in every state and language, files that nothing uses, texts that no page shows.
// `postern views check` prints the result.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Branding } from '../config/config.ts';
import { didYouMean, suggest } from '../config/wording.ts';
import { COLORS_CSS, isAssetName } from './assets.ts';
import { fieldsOf, PAGE_MODELS } from './models.ts';
import { createPages } from './pages.ts';
import { PAGE_STATES } from './samples.ts';
import { type LocaleFile, parseLocaleFile, placeholdersOf } from './texts.ts';
import { listViewFiles, listViews, BUILT_IN_FOLDER } from './view-files.ts';

export type ViewFault = {
  /** Name in the folder, or the page. */
  readonly file: string;
  readonly line?: number | undefined;
  readonly message: string;
  /** warning: works today. */
  readonly severity: 'error' | 'warning';
};

type ViewCheckOptions = {
  readonly overrideFolder: string;
  readonly branding: Branding;
};

/** Every fault of the folder, each once: a page has the same one in most of its states. */
export function checkViews(options: ViewCheckOptions): readonly ViewFault[] {
  if (!existsSync(options.overrideFolder))
    return [{ file: options.overrideFolder, message: 'the folder does not exist', severity: 'error' }];
  const files = listViewFiles(options.overrideFolder);
  const faults = [
    ...unknownFiles(files),
    ...[...files].flatMap(([name, file]) => (name.endsWith('.ejs') ? rawOutput(name, file) : [])),
    ...localeFaults(files),
    ...renderFaults(options, files),
    ...outdated(options.overrideFolder),
  ];
  const seen = new Set<string>();
  return faults.filter(({ file, line = '', message }) => {
    const key = `${file}:${line}:${message.replace(/ \(as in "[^"]*"\)$/, '')}`;
    return !seen.has(key) && seen.add(key);
  });
}

type Files = ReadonlyMap<string, string>;

function error(file: string, message: string, line?: number): ViewFault {
  return { file, message, severity: 'error', ...(line !== undefined && { line }) };
}

/** A file that nothing reads is a slip in its name. */
function unknownFiles(files: Files): ViewFault[] {
  const builtIn = [...listViewFiles(BUILT_IN_FOLDER).keys()];
  const known = [...builtIn, 'assets/branding.css'];
  return [...files.keys()].flatMap((name) => {
    const isUsed =
      known.includes(name) ||
      /^partials\/.+\.ejs$/.test(name) ||
      /^locales\/[A-Za-z-]+\.json$/.test(name) ||
      (/^assets\/[^/]+$/.test(name) && isAssetName(name)) ||
      /^(readme|license)/i.test(path.posix.basename(name));
    if (isUsed) return [];
    if (name.startsWith('assets/'))
      return error(name, 'is not served: not a kind of file that pages use, or in a folder of its own');
    const hint =
      suggest(name, known) ?? known.find((one) => path.posix.basename(one) === path.posix.basename(name));
    return error(name, `is used by no page${hint === undefined ? '' : `: did you mean ${hint}?`}`);
  });
}

/** Names in `assets/` of either folder. */
function assetsOf(files: Files): ReadonlySet<string> {
  const names = [...listViewFiles(BUILT_IN_FOLDER).keys(), ...files.keys()];
  return new Set(names.flatMap((name) => /^assets\/(.+)$/.exec(name)?.[1] ?? []));
}

function rawOutput(name: string, file: string): ViewFault[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line, index) =>
      /<%-(?!\s*include\()/.test(line)
        ? error(name, 'prints without escaping: use <%= %>, and <%- %> for include() only', index + 1)
        : [],
    );
}

function localeFaults(files: Files): ViewFault[] {
  const english = parseLocaleFile(readFileSync(path.join(BUILT_IN_FOLDER, 'locales/en.json'), 'utf8'));
  const templates = [...files].filter(([name]) => name.endsWith('.ejs'));
  const texts = templates.map(([, file]) => readFileSync(file, 'utf8')).join('\n');
  return [...files].flatMap(([name, file]) => {
    if (!/^locales\/.*\.json$/.test(name)) return [];
    let own: LocaleFile;
    try {
      own = parseLocaleFile(readFileSync(file, 'utf8'));
    } catch (cause) {
      return error(name, cause instanceof Error ? cause.message : String(cause));
    }
    return [...own].flatMap(([key, text]) =>
      keyFaults({ english, texts }, key, text).map((message) => error(name, message)),
    );
  });
}

type Known = { readonly english: LocaleFile; readonly texts: string };

function keyFaults({ english, texts }: Known, key: string, text: string): string[] {
  const original = english.get(key);
  if (original === undefined) {
    // Scopes are the operator's own; so are keys that the operator's templates ask for.
    const isTheirs = key.startsWith('scope.') || texts.includes(key);
    return isTheirs ? [] : [`${key} is no text of any page${didYouMean(key, [...english.keys()])}`];
  }
  const known = placeholdersOf(original);
  const gets = known.length > 0 ? `: it gets ${known.join(', ')}` : '';
  return placeholdersOf(text)
    .filter((placeholder) => !known.includes(placeholder))
    .map((placeholder) => `${key} has {{${placeholder}}}, which it never gets${gets}`);
}

function renderFaults(options: ViewCheckOptions, files: Files): ViewFault[] {
  const faults: ViewFault[] = [];
  const assets = assetsOf(files);
  const pages = createPages({
    ...options,
    assetUrl(name) {
      if (!assets.has(name) && name !== COLORS_CSS) throw new Error(`There is no asset ${name}`);
      return `/assets/${name}`;
    },
    hasAsset: (name) => assets.has(name),
    onProblem: ({ file, message }) => {
      const [, line] = /\.ejs:(\d+)/.exec(message) ?? [];
      const name = path.isAbsolute(file) ? path.relative(options.overrideFolder, file) : file;
      faults.push(error(name, lastLine(message), line === undefined ? undefined : Number(line)));
    },
  });
  const read = new Set<string>();
  const locales = [...files.keys()].flatMap((name) => /^locales\/(.+)\.json$/.exec(name)?.[1] ?? []);
  for (const locale of new Set(['en', ...locales])) {
    for (const { name, model } of PAGE_STATES) {
      const onUnknown = (field: string, known: readonly string[]) => {
        const hint = didYouMean(field.split('.').at(-1) ?? '', known);
        faults.push(error(`${name}.ejs`, `${field} is no field${hint}`));
      };
      const strict = toStrictModel(model, PAGE_MODELS[name], 'model', {
        onRead: (field) => read.add(`${name} ${field}`),
        onUnknown,
      }) as typeof model;
      pages.render(name, strict, { locale, languageUrl: (tag) => `?lang=${tag}` });
    }
  }
  for (const { name, model } of PAGE_STATES) {
    const token = TOKENS.find((field) => JSON.stringify(model).includes(`"${field}":`));
    if (token !== undefined && !read.has(`${name} ${token}`))
      faults.push(error(`${name}.ejs`, `never prints ${token}: its forms would be refused`));
  }
  return faults;
}

function lastLine(message: string): string {
  return message.trim().split('\n').at(-1) ?? message;
}

function outdated(overrideFolder: string): ViewFault[] {
  return listViews(overrideFolder)
    .filter(({ state }) => state === 'outdated')
    .map(({ name }) => ({
      file: name,
      message:
        'was made from an older version: compare it with "postern views eject --stdout" of the same name',
      severity: 'warning' as const,
    }));
}

/** Fields that a form must send with it. */
const TOKENS = ['csrf', 'xsrf'];

/** Asked for by JavaScript itself, or of any object and text. */
const ALWAYS = new Set(['toJSON', 'then', 'constructor', 'toString', 'valueOf', 'hasOwnProperty']);

type Watch = {
  /** Gets the name of each field that a template asks for. */
  readonly onRead: (field: string) => void;
  /** Gets the path, as `model.client.nmae`, and the fields that there are. */
  readonly onUnknown: (place: string, known: readonly string[]) => void;
};

/** A model that notices what a template asks for: a field that pages never get is a typo that would print nothing. */
function toStrictModel(value: unknown, schema: unknown, place: string, watch: Watch): unknown {
  const fields = fieldsOf(schema);
  if (fields === undefined || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((entry) => toStrictModel(entry, schema, place, watch));
  return new Proxy(value, {
    get(target, key, receiver) {
      const found: unknown = Reflect.get(target, key, receiver);
      if (typeof key === 'symbol' || ALWAYS.has(key)) return found;
      watch.onRead(key);
      if (Object.hasOwn(fields, key)) return toStrictModel(found, fields[key], `${place}.${key}`, watch);
      watch.onUnknown(`${place}.${key}`, Object.keys(fields));
      return undefined;
    },
  });
}
