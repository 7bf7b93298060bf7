// Every view by name, and whose it is: ours, the operator's, or the operator's that was made from an older one of ours, as
// the first line of an ejected view says.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { listViewFiles } from './view-files.ts';

/** How an ejected view names its original, and that one's hash. */
const MARK = /postern:from \S+ ([0-9a-f]{16})/;

export type ViewState = 'built-in' | 'overridden' | 'outdated' | 'added';

export type ListedView = {
  readonly name: string;
  readonly state: ViewState;
  /** The file in force. */
  readonly file: string;
};

export function listViews(builtInFolder: string, overrideFolder: string | undefined): readonly ListedView[] {
  const builtIn = listViewFiles(builtInFolder);
  const custom = overrideFolder === undefined ? new Map<string, string>() : listViewFiles(overrideFolder);
  const names = [...new Set([...builtIn.keys(), ...custom.keys()])].toSorted();
  return names.map((name) => {
    const [ours, theirs] = [builtIn.get(name), custom.get(name)];
    return { name, state: stateOf(ours, theirs), file: theirs ?? ours ?? '' };
  });
}

function stateOf(ours: string | undefined, theirs: string | undefined): ViewState {
  if (theirs === undefined) return 'built-in';
  if (ours === undefined) return 'added';
  const [, original] = MARK.exec(readFileSync(theirs, 'utf8').slice(0, 500)) ?? [];
  const isCurrent = original === undefined || original === fingerprintOf(readFileSync(ours, 'utf8'));
  return isCurrent ? 'overridden' : 'outdated';
}

/** How a comment is written, by kind of file. JSON has none: a locale file holds single keys anyway. */
const COMMENTS = new Map<string, (text: string) => string>([
  ['.ejs', (text) => `<%# ${text} -%>\n`],
  ['.css', (text) => `/* ${text} */\n`],
  ['.js', (text) => `// ${text}\n`],
  ['.svg', (text) => `<!-- ${text} -->\n`],
]);

/** The text of a built-in view with its mark; undefined when that kind of file can't carry one. */
export function toEjected(name: string, text: string): string | undefined {
  const comment = COMMENTS.get(path.posix.extname(name));
  return comment === undefined ? undefined : comment(`postern:from ${name} ${fingerprintOf(text)}`) + text;
}

function fingerprintOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
