// Finds and reads the files that the configuration names: `clients_from` and `users_from`.
import { glob } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import * as z from 'zod';
import { readDocument, type SourceDocument } from './document.ts';
import { isRecord, parse } from './parse-fields.ts';
import type { Path, ProblemList, Report } from './problems.ts';
import { withoutRemoved } from './removed-keys.ts';
import type { Entry } from './rules.ts';

/** What a configuration is read from, for watch.ts: files that were read or looked for, and patterns. All absolute. */
export type SourceList = { readonly files: string[]; readonly patterns: string[] };

/** Some objects of one kind in one document. */
export type Listing = Readonly<{
  document: SourceDocument;
  path: Path;
  items: readonly unknown[];
}>;

/** The files that `patterns` mean, in order, and the pattern of each. A pattern may match nothing, a name must exist. */
export async function findFiles(
  patterns: readonly string[],
  configFile: string,
  sources: SourceList,
): Promise<ReadonlyMap<string, number>> {
  const files = new Map<string, number>();
  for (const [index, pattern] of patterns.entries()) {
    const path = isAbsolute(pattern) ? pattern : join(dirname(configFile), pattern);
    const isPattern = /[*?[{]/.test(pattern);
    if (isPattern) sources.patterns.push(resolve(path));
    const found = isPattern ? await matchesOf(path) : [path];
    for (const file of found) {
      if (!files.has(file)) files.set(file, index);
      sources.files.push(resolve(file));
    }
  }
  return files;
}

/** The files that match, in order. */
export async function matchesOf(pattern: string): Promise<string[]> {
  const matches: string[] = [];
  for await (const match of glob(pattern)) matches.push(match);
  return matches.toSorted();
}

/** The objects under `key` in `file`, or in the list that the file is. Undefined when it can't be read. */
export async function readListing(
  file: string,
  key: 'clients' | 'users',
  problems: ProblemList,
  reportUnreadable: (message: string) => void,
): Promise<Listing | undefined> {
  const document = await readDocument(file, problems, (message) =>
    reportUnreadable(`${resolve(file)} ${message}`),
  );
  if (!document) return undefined;
  const content = withoutRemoved(document, problems.notices, key);
  if (Array.isArray(content)) return { document, path: [], items: content };
  const report = problems.reporter(document);
  // An empty file is one that is about to be written, or a script's slip: its clients must not disappear.
  if (document.isBlank) {
    report([], 'is empty: write [] for an empty list');
    return undefined;
  }
  // Only comments: a list with nothing in it yet.
  if (content === null) return { document, path: [key], items: [] };
  if (!isRecord(content)) {
    report([], `must be a list, or a map with ${key}: and a list`);
    return undefined;
  }
  const listSchema = z.strictObject({ $schema: z.string().optional(), [key]: z.array(z.unknown()) });
  const { [key]: items } = parse(listSchema, content, report) ?? {};
  return Array.isArray(items) ? { document, path: [key], items } : undefined;
}

/** Objects of one kind, and whether these are all: none had a fault, and every file with some could be read. */
export type Entries<F> = { readonly list: readonly Entry<F>[]; readonly isWhole: boolean };

/** The objects of `listings`, in order. `labelKey` names each in messages. */
export function entriesOf<S extends z.ZodObject>(
  schema: S,
  listings: readonly (Listing | undefined)[],
  { problems, labelKey }: { readonly problems: ProblemList; readonly labelKey?: string },
): Entries<z.output<S>> {
  const entries = listings.flatMap((listing): (Entry<z.output<S>> | undefined)[] => {
    if (!listing) return [undefined];
    const { document, path, items } = listing;
    const plain = problems.reporter(document);
    return items.map((node, index) => {
      const at = [...path, index];
      const report = labelled((within, ...said) => plain([...at, ...within], ...said), labelKey, node);
      const value = parse(schema, node, report);
      if (value === undefined) return undefined;
      // Positions cost a second look at the file, see document.ts.
      const place = () => `${document.file}:${document.locate(at, 'value').line}`;
      return { value, report, place, folder: document.folder };
    });
  });
  return { list: entries.filter((entry) => entry !== undefined), isWhole: !entries.includes(undefined) };
}

function labelled(report: Report, kind: string | undefined, node: unknown): Report {
  const label = kind !== undefined && isRecord(node) ? node[kind] : undefined;
  if (typeof label !== 'string' || !/^[\x21-\x7e]{1,60}$/.test(label)) return report;
  return (path, message, target) => report(path, `${message} (${kind} ${label})`, target);
}
