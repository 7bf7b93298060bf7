// Reads files that the administrator names, and parses YAML or JSON into plain data, with the position of each value.
import { isUtf8 } from 'node:buffer';
import { constants } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type Located, orReport, type ProblemList, ValueFault } from './problems.ts';
import { DEEPEST, locateIn, parseYaml } from './yaml.ts';

// 10,000 users with 20 groups each take 4.4 MB.
const LARGEST_KIB = 8192;

export type SourceDocument = Located & {
  /** Absolute folder of the file, which its relative paths start from. */
  readonly folder: string;
  readonly content: unknown;
  /** Whether the file holds comments and nothing else. */
  readonly isComment: boolean;
};

/** Resolves the document in `file`, or undefined after reporting its problems. */
export async function readDocument(
  file: string,
  problems: ProblemList,
  reportUnreadable = (message: string) => problems.add({ file, message }),
): Promise<SourceDocument | undefined> {
  const source = await orReport(readText(file), reportUnreadable);
  return source === undefined ? undefined : parseSource(file, source, problems);
}

/** Throws ValueFault. */
export async function readText(file: string): Promise<string> {
  const { content } = await readRegular(file, LARGEST_KIB);
  if (!isUtf8(content)) throw new ValueFault('is not UTF-8 text');
  return new TextDecoder().decode(content);
}

function parseSource(file: string, source: string, problems: ProblemList): SourceDocument | undefined {
  const found = { file, folder: dirname(resolve(file)), locate: locateIn(source) };
  const json = parseJson(source);
  if (json !== undefined) return { ...found, content: json, isComment: false };
  const { content, faults } = parseYaml(source);
  for (const fault of faults) problems.add({ file, ...fault });
  const isComment = source.includes('#') && !/^[ \t]*[^\s#]/m.test(source);
  return faults.length > 0 ? undefined : { ...found, content, isComment };
}

/** A string, and the colon after it if it is a key. */
const TEXT = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/g;

/**
 * Parses a list or map in JSON, in a tenth of the time and memory that the YAML parser takes. Returns undefined for text that the YAML
 * parser must check: other text, and faults that JSON.parse hides (a duplicate key, `__proto__`, deep nesting).
 */
export function parseJson(source: string, deepest = DEEPEST): unknown {
  if (!/^\s*[[{]/.test(source)) return undefined;
  let content: unknown;
  try {
    content = JSON.parse(source);
  } catch {
    return undefined;
  }
  let keys = 0;
  const isPlain = (node: unknown, depth: number): boolean => {
    if (typeof node !== 'object' || node === null) return true;
    if (depth > deepest || Object.hasOwn(node, '__proto__')) return false;
    const values: readonly unknown[] = Object.values(node);
    if (!Array.isArray(node)) keys += values.length;
    return values.every((value) => isPlain(value, depth + 1));
  };
  if (!isPlain(content, 0)) return undefined;
  for (const [, colon] of source.matchAll(TEXT)) if (colon !== undefined) keys -= 1;
  return keys === 0 ? content : undefined;
}

/**
 * Resolves the content of a regular file of at most `largest` KiB, and its mode. Reading a pipe or a device might never end. Throws
 * ValueFault.
 */
export async function readRegular(file: string, largest: number) {
  // Checked before the read, so that a file that is too large is rejected at once.
  const found = await stat(file).catch(unreadable);
  if (found.isDirectory()) throw new ValueFault('is a folder, not a file');
  if (!found.isFile()) throw new ValueFault('is a pipe, a device or a socket, not a file');
  if (found.size > largest * 1024) throw new ValueFault(`is too large: the limit is ${largest} KiB`);
  // If a pipe has replaced the file since the check, opening it doesn't block.
  const flag = constants.O_RDONLY | constants.O_NONBLOCK;
  return { content: await readFile(file, { flag }).catch(unreadable), mode: found.mode };
}

function unreadable({ code }: NodeJS.ErrnoException): never {
  if (code === 'ENOENT') throw new ValueFault('does not exist');
  if (code === 'EACCES' || code === 'EPERM')
    throw new ValueFault("can't be read: check its owner and permissions");
  throw new ValueFault(`can't be read (${code})`);
}
