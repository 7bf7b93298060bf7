// Compiles a set of EJS templates that include each other: the EJS options, and what a template can see.
import ejs from 'ejs';
import type { PageContext, PageModels, PageName } from './models.ts';
import type { TextPart, TextValues } from './texts.ts';

/** Everything that a template sees, always under these names: no key of a model becomes a variable or an option. */
type TemplateLocals = PageContext & {
  readonly page: PageName;
  readonly model: PageModels[PageName];
  /** Name of a file in `assets/` -> its URL. */
  readonly asset: (name: string) => string;
  /** Key of a text -> the text in this page's language, with the values in their places. */
  readonly t: (key: string, values?: TextValues) => string;
  /** The same in pieces. */
  readonly parts: (key: string, values?: TextValues) => readonly TextPart[];
  /** A time of a model (epoch seconds) in this page's language, in UTC. */
  readonly time: (at: number) => string;
  /** "in 3 hours", of minutes in a model. */
  readonly delay: (minutes: number) => string;
  /** "Chrome, Windows" of a model -> "Chrome on Windows" in this page's language. */
  readonly browserName: (text: string) => string;
};

/** Names of the locals, in the order of docs/views.md. */
export const LOCAL_NAMES = [
  'page',
  'model',
  't',
  'parts',
  'time',
  'delay',
  'browserName',
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
  // Otherwise an assignment without `const` in a template makes a global that the next user's page can read.
  strict: true,
  compileDebug: true,
  // EJS's own include reads and compiles again at each render, or keeps one cache for the whole process that outlives a
  // reload. This name hides it behind ours, which knows only the templates of the set.
  destructuredLocals: [...LOCAL_NAMES, 'include'],
} as const;

export function compileTemplate(text: string, filename: string): Template {
  const compiled = tryToCompile(text, filename);
  if (typeof compiled === 'function') return compiled;
  // EJS names no line: it is the one from which on each beginning of the text fails like the whole, or within a tag.
  const lines = text.split('\n');
  const before = lines.findLastIndex((_, index) => {
    const fault = tryToCompile(lines.slice(0, index + 1).join('\n'), filename);
    return fault !== compiled && !String(fault).startsWith('Error: Could not find matching close tag');
  });
  throw new SyntaxError(`${compiled} (line ${before + 2})`);
}

function tryToCompile(text: string, filename: string): Template | string {
  try {
    return ejs.compile(text, { ...OPTIONS, filename });
  } catch (cause) {
    // What follows is advice on other tools.
    return String(cause).split('\n', 1).join('');
  }
}

/** Throws what the template throws. What it includes is named from the top of the folder, without `.ejs`. */
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
    renderTemplate(templates, `${target}.ejs`, locals, { ...included, ...more });
  return template({ ...included, ...locals, include });
}
