// Compiles a set of EJS templates that include each other: the EJS options, and what a template can see.
import path from 'node:path';
import { Script } from 'node:vm';
import ejs from 'ejs';
import type { PageContext, PageModels, PageName } from './models.ts';
import type { TextPart, TextValues } from './texts.ts';

export type TemplateSource = {
  /** Relative to its views folder, `partials/head.ejs`. */
  readonly name: string;
  readonly file: string;
  readonly text: string;
};

/** Everything that a template sees, always under these names: no key of a model becomes a variable or an option. */
export type TemplateLocals = PageContext & {
  readonly page: PageName;
  readonly model: PageModels[PageName];
  /** Name of a file in `assets/` -> its URL. */
  readonly asset: (name: string) => string;
  /** Key of a text -> the text in this page's language, with the values in their places. */
  readonly t: (key: string, values?: TextValues) => string;
  /** The same in pieces. */
  readonly parts: (key: string, values?: TextValues) => readonly TextPart[];
};

/** Names of the locals, in the order of docs/views.md. */
export const LOCAL_NAMES = [
  'page',
  'model',
  't',
  'parts',
  'locale',
  'dir',
  'languages',
  'branding',
  'stylesheets',
  'asset',
] as const satisfies readonly (keyof TemplateLocals)[];

export type Template = (locals: object) => string;

/** Name as in the folder (`partials/head.ejs`) -> template. What a template includes is looked up in the same set. */
export type TemplateSet = ReadonlyMap<string, Template>;

const OPTIONS = {
  // Otherwise an assignment without `const` in a template makes a global that the next person's page can read.
  strict: true,
  compileDebug: true,
  // EJS's own include reads and compiles again at each render, or keeps one cache for the whole process that outlives a
  // reload. This name hides it behind ours, which knows only the templates of the set.
  destructuredLocals: [...LOCAL_NAMES, 'include'],
} as const;

/** A template that doesn't compile is reported to `onBroken` and isn't in the set. */
export function compileTemplates(
  sources: readonly TemplateSource[],
  onBroken: (file: string, cause: unknown) => void,
): TemplateSet {
  const templates = new Map<string, Template>();
  for (const { name, file, text } of sources) {
    try {
      templates.set(name, ejs.compile(text, { ...OPTIONS, filename: file }));
    } catch (cause) {
      onBroken(file, syntaxErrorOf(file, text) ?? cause);
    }
  }
  return templates;
}

const TAG = /<%(?!%)([#=-]?)((?:(?!<%(?!%)|%>)[^])*)(%>)?/g;

/** What is wrong with a template, and where: EJS names no line, and ends its message with advice. */
function syntaxErrorOf(file: string, text: string): Error | undefined {
  const open = [...text.matchAll(TAG)].find(({ 3: closing }) => closing === undefined);
  if (open !== undefined) {
    return new SyntaxError(`${file}:${lineAt(text, open.index)}\n\n<% without its %>`);
  }
  try {
    // Compiled, and never run.
    void new Script(`"use strict"; (() => {${codeOf(text)}\n})`, { filename: file });
    return undefined;
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) return undefined;
    const line = Number(/:(\d+)\n/.exec(cause.stack ?? '')?.[1] ?? 1);
    const last = lineAt(text, text.length);
    const reason = line > last ? 'a { or ( is not closed' : cause.message;
    return new SyntaxError(`${file}:${Math.min(line, last)}\n\n${reason}`, { cause });
  }
}

/** The code of a template, each piece on its own line. */
function codeOf(text: string): string {
  let code = '';
  let end = 0;
  for (const { 0: tag, 1: kind = '', 2: inner = '', index } of text.matchAll(TAG)) {
    const piece = inner.replace(/^_/, '').replace(/[-_]$/, '');
    code += newlinesOf(text.slice(end, index));
    if (kind === '#') code += newlinesOf(piece);
    else code += kind === '' ? piece : `;(${piece});`;
    end = index + tag.length;
  }
  return code + newlinesOf(text.slice(end));
}

const lineAt = (text: string, index: number): number => text.slice(0, index).split('\n').length;
const newlinesOf = (text: string): string => text.replaceAll(/[^\n]/g, '');

/** Throws what the template throws. */
export function renderTemplate(
  templates: TemplateSet,
  name: string,
  locals: TemplateLocals,
  /** What `include` was given besides the name: in the template, `locals.…`. */
  included: object = {},
): string {
  const template = templates.get(name);
  if (!template) throw new Error(`There is no template ${name}`);
  const include = (target: string, more?: object) =>
    renderTemplate(templates, resolveInclude(name, target, templates), locals, { ...included, ...more });
  return template({ ...included, ...locals, include });
}

/** As in EJS: from the including file's folder, or from the top; `.ejs` may be left out. */
function resolveInclude(from: string, target: string, templates: TemplateSet): string {
  const name = path.posix.extname(target) ? target : `${target}.ejs`;
  const beside = path.posix.join(path.posix.dirname(from), name);
  if (templates.has(beside) && !name.startsWith('/')) return beside;
  return path.posix.normalize(name).replace(/^\/+/, '');
}
