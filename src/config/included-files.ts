// Finds and reads the files that the configuration names: `clients_from` and `users_from`.
import { glob } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import * as z from 'zod';
import { readDocument, type SourceDocument } from './document.ts';
import { isRecord, parse } from './parse-fields.ts';
import type { Path, ProblemList, Report } from './problems.ts';
import { withoutRemoved } from './removed-keys.ts';
import type { Entry } from './rules.ts';

/** The sources of a configuration, for watch.ts: files that were read or looked for, and patterns. All paths are absolute. */
export type SourceList = Readonly<{ files: string[]; patterns: string[] }>;

type Listing = Readonly<{ document: SourceDocument; path: Path; items: readonly unknown[] }>;

/**
 * Reads the lists in the files that `document` names, in order. A pattern may match nothing, but a named file must exist. Resolves
 * undefined for a file that can't be read.
 */
export async function readListings(
  document: SourceDocument,
  [key, patterns]: readonly [key: 'clients' | 'users', patterns: readonly unknown[]],
  { problems, sources }: Readonly<{ problems: ProblemList; sources: SourceList }>,
): Promise<readonly (Listing | undefined)[]> {
  const listings = new Map<string, Listing | undefined>();
  for (const [index, pattern] of patterns.entries()) {
    // The schema reports a value that isn't a file name.
    if (typeof pattern !== 'string' || pattern.trim() === '') continue;
    const path = isAbsolute(pattern) ? pattern : join(dirname(document.file), pattern);
    const isPattern = /[*?[{]/.test(pattern);
    if (isPattern) sources.patterns.push(resolve(path));
    for (const file of isPattern ? await matchesOf(path) : [path]) {
      sources.files.push(resolve(file));
      if (listings.has(file)) continue;
      const place = key === 'clients' ? ['clients_from', index] : ['users_from'];
      const report = (message: string) => problems.reporter(document)(place, `${resolve(file)} ${message}`);
      listings.set(file, await readListing(file, key, problems, report));
    }
  }
  return [...listings.values()];
}

/** The files that match, in order. */
export async function matchesOf(pattern: string): Promise<string[]> {
  const matches: string[] = [];
  for await (const match of glob(pattern)) matches.push(match);
  return matches.toSorted();
}

/** Reads the objects under `key` in `file`, or those of a file that is a list. Resolves undefined if it can't be read. */
async function readListing(
  file: string,
  key: 'clients' | 'users',
  problems: ProblemList,
  reportUnreadable: (message: string) => void,
): Promise<Listing | undefined> {
  const document = await readDocument(file, problems, reportUnreadable);
  if (!document) return undefined;
  const content = withoutRemoved(document, problems.notices, key);
  if (Array.isArray(content)) return { document, path: [], items: content };
  const report = problems.reporter(document);
  // A file with only comments is an empty list.
  if (document.isComment) return { document, path: [key], items: [] };
  if (!isRecord(content)) {
    // An empty file may be half written, or the mistake of a script: its clients must not disappear.
    const instead = `must be a list, or a map with ${key}: and a list`;
    report([], content === null ? 'is empty: write [] for an empty list' : instead);
    return undefined;
  }
  const listSchema = z.strictObject({ $schema: z.string().optional(), [key]: z.array(z.unknown()) });
  const { [key]: items } = parse(listSchema, content, report) ?? {};
  return Array.isArray(items) ? { document, path: [key], items } : undefined;
}

/** Objects of one kind. `isWhole`: none had a fault, and every file with some could be read. */
export type Entries<F> = Readonly<{ list: readonly Entry<F>[]; isWhole: boolean }>;

export function entriesOf<S extends z.ZodObject>(
  schema: S,
  listings: readonly (Listing | undefined)[],
  problems: ProblemList,
): Entries<z.output<S>> {
  const entries = listings.flatMap((listing): (Entry<z.output<S>> | undefined)[] => {
    if (!listing) return [undefined];
    const { document, path, items } = listing;
    const plain = problems.reporter(document);
    return items.map((node, index) => {
      const at = [...path, index];
      const label = labelOf(node);
      const report: Report = (within, message, target) =>
        plain([...at, ...within], `${message}${label}`, target);
      const value = parse(schema, node, report);
      if (value === undefined) return undefined;
      // Called only for messages, because finding a position parses the file again (locateIn in yaml.ts).
      const place = () => `${document.file}:${document.locate(at, 'value').line}`;
      return { value, report, place, folder: document.folder };
    });
  });
  return { list: entries.filter((entry) => entry !== undefined), isWhole: !entries.includes(undefined) };
}

/** Names a client or user in a message: ` (client_id web)`. */
function labelOf(node: unknown): string {
  for (const key of ['client_id', 'username']) {
    const name = isRecord(node) ? node[key] : undefined;
    if (typeof name === 'string' && /^[\x21-\x7e]{1,60}$/.test(name)) return ` (${key} ${name})`;
  }
  return '';
}
