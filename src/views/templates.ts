// Compiles a set of EJS templates that include each other: the EJS options, and what a template can see.
import ejs from 'ejs';

/** All variables of a template, in the order of docs/views.md: no key of a model becomes a variable or an option. */
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
] as const;

type TemplateLocals = Readonly<Record<(typeof LOCAL_NAMES)[number], unknown>>;

export type Template = (locals: object) => string;

/** Name as in the folder (`partials/head.ejs`) -> template. Includes are looked up in the same set. */
export type TemplateSet = ReadonlyMap<string, Template>;

const OPTIONS = {
  // Otherwise an assignment without `const` in a template creates a global that the next user's page can read.
  strict: true,
  compileDebug: true,
  // EJS's own include reads and compiles again at each render, or keeps one cache for the whole process that outlives a
  // reload. This name hides it behind ours, which knows only the templates of the set.
  destructuredLocals: [...LOCAL_NAMES, 'include'],
} as const;

export function compileTemplate(text: string, filename: string): Template {
  const compiled = tryToCompile(text, filename);
  if (typeof compiled === 'function') return compiled;
  // EJS names no line: it is the first one from which each prefix of the text fails like the whole, or within a tag.
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
    // The other lines are advice on other tools.
    return String(cause).split('\n', 1).join('');
  }
}

/** Throws what the template throws. Includes are named from the top of the folder, without `.ejs`. */
export function renderTemplate(
  templates: TemplateSet,
  name: string,
  locals: TemplateLocals,
  /** The values passed to `include`: in the template, `locals.…`. */
  included: object = {},
): string {
  const template = templates.get(name);
  if (!template) throw new Error(`There is no template ${name}`);
  const include = (target: string, more?: object) =>
    renderTemplate(templates, `${target}.ejs`, locals, { ...included, ...more });
  return template({ ...included, ...locals, include });
}
