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

type Reading = Readonly<{ document: SourceDocument; problems: ProblemList; sources: SourceList }>;

/** Objects of one kind. `isWhole`: none had a fault, and every file with some could be read. */
export type Entries<F> = Readonly<{ list: readonly Entry<F>[]; isWhole: boolean }>;

/** Reads the objects under `key` of the document, and those in the files that its `KEY_from` names. */
export async function readEntries<S extends z.ZodObject>(
  key: string,
  schema: S,
  reading: Reading,
): Promise<Entries<z.output<S>>> {
  const { document, problems } = reading;
  const content = isRecord(document.content) ? document.content : {};
  const [own, names] = [content[key], content[`${key}_from`]];
  const items = [...itemsOf(document, [key], own), ...(await readFiles(key, names, reading))];
  const entries = items.map((item) => item && toEntry(schema, item, problems));
  return { list: entries.filter((entry) => entry !== undefined), isWhole: !entries.includes(undefined) };
}

type Item = Readonly<{ document: SourceDocument; at: Path; node: unknown }>;
/** Undefined: a list that can't be read. */
type Items = readonly (Item | undefined)[];

const itemsOf = (document: SourceDocument, path: Path, list: unknown): readonly Item[] =>
  Array.isArray(list) ? list.map((node: unknown, index) => ({ document, at: [...path, index], node })) : [];

function toEntry<S extends z.ZodObject>(
  schema: S,
  { document, at, node }: Item,
  problems: ProblemList,
): Entry<z.output<S>> | undefined {
  const label = labelOf(node);
  const plain = problems.reporter(document);
  const report: Report = (within, message, target) => plain([...at, ...within], `${message}${label}`, target);
  const value = parse(schema, node, report);
  if (value === undefined) return undefined;
  // Called only for messages, because finding a position parses the file again (locateIn in yaml.ts).
  const place = () => `${document.file}:${document.locate(at, 'value').line}`;
  return { value, report, place, folder: document.folder };
}

/** Reads the named files in order. A pattern may match nothing, but a named file must exist. */
async function readFiles(
  key: string,
  names: unknown,
  { document, problems, sources }: Reading,
): Promise<Items> {
  const lists = new Map<string, Items>();
  for (const [index, pattern] of [names].flat().entries()) {
    // The schema reports a value that isn't a file name.
    if (typeof pattern !== 'string' || pattern.trim() === '') continue;
    const path = isAbsolute(pattern) ? pattern : join(dirname(document.file), pattern);
    const isPattern = /[*?[{]/.test(pattern);
    if (isPattern) sources.patterns.push(resolve(path));
    for (const file of isPattern ? await matchesOf(path) : [path]) {
      sources.files.push(resolve(file));
      if (lists.has(file)) continue;
      const place = [`${key}_from`, ...(Array.isArray(names) ? [index] : [])];
      const report = (message: string) => problems.reporter(document)(place, `${resolve(file)} ${message}`);
      lists.set(file, await readFileList(file, key, problems, report));
    }
  }
  return [...lists.values()].flat();
}

/** The files that match, in order. */
export async function matchesOf(pattern: string): Promise<string[]> {
  const matches: string[] = [];
  for await (const match of glob(pattern)) matches.push(match);
  return matches.toSorted();
}

/** Reads the objects under `key` in `file`, or those of a file that is a list. */
async function readFileList(
  file: string,
  key: string,
  problems: ProblemList,
  reportUnreadable: (message: string) => void,
): Promise<Items> {
  const document = await readDocument(file, problems, reportUnreadable);
  if (!document) return [undefined];
  const content = withoutRemoved(document, problems.notices, key);
  if (Array.isArray(content)) return itemsOf(document, [], content);
  const report = problems.reporter(document);
  // A file with only comments is an empty list.
  if (document.isComment) return [];
  if (!isRecord(content)) {
    // An empty file may be half written, or the mistake of a script: its clients must not disappear.
    const instead = `must be a list, or a map with ${key}: and a list`;
    report([], content === null ? 'is empty: write [] for an empty list' : instead);
    return [undefined];
  }
  const listSchema = z.strictObject({ $schema: z.string().optional(), [key]: z.array(z.unknown()) });
  const { [key]: items } = parse(listSchema, content, report) ?? {};
  return items === undefined ? [undefined] : itemsOf(document, [key], items);
}

/** Names a client or user in a message: ` (client_id web)`. */
function labelOf(node: unknown): string {
  for (const key of ['client_id', 'username']) {
    const name = isRecord(node) ? node[key] : undefined;
    if (typeof name === 'string' && /^[\x21-\x7e]{1,60}$/.test(name)) return ` (${key} ${name})`;
  }
  return '';
}
