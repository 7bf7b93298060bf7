// Copies of built-in views for an operator to change. The first line names the original that a copy was made from, so it
// shows when the original has changed since.
import { createHash } from 'node:crypto';
import path from 'node:path';

const MARK = /postern:from (\S+) ([0-9a-f]{16})/;

/** How a comment is written, by kind of file. JSON has none: a locale file holds single keys anyway. */
const COMMENTS = new Map<string, (text: string) => string>([
  ['.ejs', (text) => `<%# ${text} -%>\n`],
  ['.css', (text) => `/* ${text} */\n`],
  ['.js', (text) => `// ${text}\n`],
  ['.svg', (text) => `<!-- ${text} -->\n`],
]);

export function canBeEjected(name: string): boolean {
  return COMMENTS.has(path.posix.extname(name));
}

/** The text of a built-in view with its mark. Throws when that kind of file can't carry one. */
export function toEjected(name: string, text: string): string {
  const comment = COMMENTS.get(path.posix.extname(name));
  if (comment === undefined) throw new TypeError(`${name} can't be ejected`);
  return comment(`postern:from ${name} ${fingerprintOf(text)}`) + text;
}

/** What a file was made from, as its mark says. */
export function readMark(text: string): { readonly name: string; readonly fingerprint: string } | undefined {
  const [, name, fingerprint] = MARK.exec(text.slice(0, 500)) ?? [];
  return name === undefined || fingerprint === undefined ? undefined : { name, fingerprint };
}

export function fingerprintOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
