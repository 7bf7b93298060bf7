// Checks an administrator's views: each template in every state and language.
// `postern views check` prints the result.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { COLORS_CSS } from '../../views/assets.ts';
import { PAGE_MODELS } from '../../views/models.ts';
import { createPages } from '../../views/pages.ts';
import { fieldsOf, PAGE_STATES } from './page-samples.ts';
import { loadLocaleFiles } from '../../views/texts.ts';
import { listViewFiles, type ViewsSettings, BUILT_IN_FOLDER } from '../../views/view-files.ts';

export type ViewFault = Readonly<{
  /** Name of the file in the folder, or of the page. */
  file: string;
  line?: number | undefined;
  message: string;
}>;

type ViewCheckOptions = ViewsSettings & { readonly overrideFolder: string };

/** Each fault once, because a page has the same one in most of its states. */
export function checkViews(options: ViewCheckOptions): readonly ViewFault[] {
  if (!existsSync(options.overrideFolder))
    return [{ file: options.overrideFolder, message: 'the folder does not exist' }];
  const files = listViewFiles(options.overrideFolder);
  const names = [...listViewFiles(BUILT_IN_FOLDER).keys(), 'assets/branding.css'];
  const locales = loadLocaleFiles(options.overrideFolder, () => undefined);
  const faults = [
    ...rawOutput(files),
    ...renderFaults(options, new Set([...names, ...files.keys()]), ['en', ...locales.keys()]),
  ];
  return [...new Map(faults.map((fault) => [JSON.stringify(fault), fault])).values()];
}

function rawOutput(files: ReadonlyMap<string, string>): ViewFault[] {
  const message = 'prints without escaping: use <%= %>, because <%- %> is only for include()';
  return [...files].flatMap(([name, file]) => {
    if (!name.endsWith('.ejs')) return [];
    const lines = readFileSync(file, 'utf8').split('\n');
    return lines.flatMap((line, index) =>
      /<%-(?!\s*include\()/.test(line) ? { file: name, line: index + 1, message } : [],
    );
  });
}

/** Fields of the model that a template must print, and what happens otherwise. */
const PRINTED = {
  csrf: 'its forms are rejected',
  xsrf: 'its forms are rejected',
  link: 'the email is sent as plain text',
};

function renderFaults(
  options: ViewCheckOptions,
  names: ReadonlySet<string>,
  locales: readonly string[],
): ViewFault[] {
  const faults: ViewFault[] = [];
  const pages = createPages({
    ...options,
    assetUrl(name) {
      if (!names.has(`assets/${name}`) && name !== COLORS_CSS) throw new Error(`unknown asset "${name}"`);
      return `/assets/${name}`;
    },
    onProblem: ({ file, message }) => {
      const [, line] = /\.ejs:(\d+)/.exec(message) ?? [];
      const name = path.isAbsolute(file) ? path.relative(options.overrideFolder, file) : file;
      const last = message.trim().split('\n').at(-1) ?? message;
      faults.push({ file: name, message: last, ...(line !== undefined && { line: Number(line) }) });
    },
  });
  const read = new Set<string>();
  for (const { name, model } of PAGE_STATES) {
    const strict = toStrictModel(model, PAGE_MODELS[name], 'model', {
      onRead: (field) => read.add(`${name} ${field}`),
      onUnknown: (field) => faults.push({ file: `${name}.ejs`, message: `unknown field "${field}"` }),
    }) as typeof model;
    for (const locale of locales) {
      const html = pages.render(name, strict, { locale, languageUrl: (tag) => `?lang=${tag}` });
      for (const [value] of html.matchAll(/\{\{\s*\w+\s*\}\}/g))
        faults.push({ file: `locales/${locale}.json`, message: `a text uses ${value}, which has no value` });
    }
  }
  for (const { name, model } of PAGE_STATES) {
    for (const [field, result] of Object.entries(PRINTED)) {
      if (JSON.stringify(model).includes(`"${field}":`) && !read.has(`${name} ${field}`))
        faults.push({ file: `${name}.ejs`, message: `does not print ${field}: ${result}` });
    }
  }
  return faults;
}

/** Properties that JavaScript itself reads, or that any object or text has. */
const ALWAYS = new Set(['toJSON', 'then', 'constructor', 'toString', 'valueOf', 'hasOwnProperty']);

type Watch = Readonly<{
  /** Gets the name of each field that a template reads. */
  onRead: (field: string) => void;
  /** Gets the path of an unknown field, such as `model.client.nmae`. */
  onUnknown: (place: string) => void;
}>;

/** Wraps a model to watch which fields a template reads. An unknown field is a typo that would print nothing. */
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
      watch.onUnknown(`${place}.${key}`);
      return undefined;
    },
  });
}
