// Where views are: the folder that comes with the service, the operator's, the files of each by name, and whose each view is.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { createHash } from 'node:crypto';
import type { Branding } from '../config/config.ts';

/** What a configuration says of views. */
export type ViewsSettings = {
  /** Its templates, texts and assets win over the built-in ones, file by file and key by key. */
  readonly overrideFolder?: string | undefined;
  readonly branding: Branding & { readonly accountUri?: string | undefined };
};

/** It lies beside src/ and beside dist/ alike. */
export const BUILT_IN_FOLDER = path.join(import.meta.dirname, '..', '..', 'views');

// A mounted Kubernetes ConfigMap keeps its versions in `..data` and the like: nothing that starts with a dot counts.
const NAME = /^\w[\w.-]*$/;
// Links are followed (a ConfigMap consists of them), so a link to a parent has to end somewhere.
const MAX_DEPTH = 4;

/** Name relative to `folder`, with `/` -> path of the file. A folder that doesn't exist has none. */
export function listViewFiles(folder: string): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  if (existsSync(folder)) collect(folder, '', MAX_DEPTH, files);
  return files;
}

function collect(folder: string, prefix: string, depth: number, files: Map<string, string>): void {
  for (const name of readdirSync(folder).toSorted()) {
    if (!NAME.test(name)) continue;
    const file = path.join(folder, name);
    const stat = statSync(file, { throwIfNoEntry: false });
    if (stat?.isFile()) files.set(prefix + name, file);
    else if (stat?.isDirectory() && depth > 0) collect(file, `${prefix}${name}/`, depth - 1, files);
  }
}

/** How an ejected view names its original, and that one's hash. */
const MARK = /postern:from \S+ ([0-9a-f]{16})/;

type ViewState = 'built-in' | 'overridden' | 'outdated' | 'added';

type ListedView = {
  readonly name: string;
  readonly state: ViewState;
  /** The file in force. */
  readonly file: string;
};

export function listViews(overrideFolder: string | undefined): readonly ListedView[] {
  const builtIn = listViewFiles(BUILT_IN_FOLDER);
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
