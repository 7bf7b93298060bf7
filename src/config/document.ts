// Reads one YAML or JSON file into plain data (maps with text keys, lists and scalars), with the position of each value. JSON is
// read by the YAML parser too, for positions. There are no aliases, so that a small file can't stand for a large one (CWE-776).
import { dirname, resolve } from 'node:path';
import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type YAMLMap,
} from 'yaml';
import type { Located, Path, Position, ProblemList } from './problems.ts';
import { readInTime, statRegular, Unreadable } from './regular-file.ts';
import { escaped } from './text.ts';

// 10,000 users with 20 groups each take 4.4 MB.
const LARGEST_BYTES = 8 * 1024 * 1024;
// After the first few, syntax errors are consequences of earlier ones.
const MOST_SYNTAX_PROBLEMS = 5;

export type SourceDocument = Located & {
  /** Absolute folder of the file, where its relative paths start. */
  readonly folder: string;
  readonly content: unknown;
  /** Whether the file holds nothing at all, not even a comment, or `null` in so many letters. */
  readonly isBlank: boolean;
};

/** The document in `file`, or undefined after its problems were noted. */
export async function readDocument(
  file: string,
  problems: ProblemList,
  reportUnreadable = (message: string) => problems.add({ file, message }),
): Promise<SourceDocument | undefined> {
  const source = await readSource(file, reportUnreadable);
  return source === undefined ? undefined : parseSource(file, source, problems);
}

async function readSource(file: string, report: (message: string) => void): Promise<string | undefined> {
  try {
    // Checked before reading, so that a file of any size is refused at once.
    const { size } = await statRegular(file);
    if (size > LARGEST_BYTES) {
      report(`is too large: at most ${LARGEST_BYTES / 1024 / 1024} MiB are read`);
      return undefined;
    }
    return new TextDecoder('utf-8', { fatal: true }).decode(await readInTime(file));
  } catch (error) {
    report(readFault(error));
    return undefined;
  }
}

/** Why a file can't be read, in plain words. */
export function readFault(error: unknown): string {
  if (error instanceof Unreadable) return error.words;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'does not exist';
  if (code === 'EACCES' || code === 'EPERM') return 'may not be read by this user';
  return code === 'ERR_ENCODING_INVALID_ENCODED_DATA'
    ? 'is not UTF-8 text'
    : `can't be read (${String(code)})`;
}

function parseSource(file: string, source: string, problems: ProblemList): SourceDocument | undefined {
  const folder = dirname(resolve(file));
  const json = parseJson(source);
  if (json !== undefined) return { file, folder, content: json, isBlank: false, locate: locator(source) };
  const { yaml, toPosition } = parseTree(source);
  const faults = yamlFaults(yaml);
  const content = faults.length === 0 ? toPlain(yaml.contents, faults) : undefined;
  for (const { offset, message } of faults.slice(0, MOST_SYNTAX_PROBLEMS))
    problems.add({ file, ...toPosition(offset), message });
  if (faults.length > 0) return undefined;
  const saysNull = content === null && isScalar(yaml.contents) && yaml.contents.source !== '';
  const isBlank = source.trim() === '' || saysNull;
  return { file, folder, content, isBlank, locate: locator(source) };
}

const JSON_KEY = /"(?:[^"\\]|\\.)*"(\s*:)?/g;

/**
 * A list or map in JSON, with a tenth of the YAML parser's time and memory. Undefined for what only that one judges: other text, and
 * what JSON.parse hides (a key that is there twice, `__proto__`, deep nesting).
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
  for (const [, colon] of source.matchAll(JSON_KEY)) if (colon !== undefined) keys -= 1;
  return keys === 0 ? content : undefined;
}

/**
 * Positions are needed only when something is wrong. So the tree, many times the size of its text, isn't kept but parsed
 * again when the first position is needed.
 */
function locator(source: string): Located['locate'] {
  let tree: Tree | undefined;
  return (path, target) => {
    tree ??= parseTree(source);
    return tree.toPosition(findOffset(tree.yaml, path, target));
  };
}

type Tree = { readonly yaml: Document; readonly toPosition: (offset: number) => Position };

function parseTree(source: string): Tree {
  const lines = new LineCounter();
  // uniqueKeys compares every pair of keys, minutes for a hostile file; toPlain finds duplicates in one pass.
  // prettyErrors would quote the file, secrets included.
  const yaml = parseDocument(source, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
  return {
    yaml,
    toPosition: (offset) => {
      const { line, col } = lines.linePos(offset);
      return { line: Math.max(line, 1), column: Math.max(col, 1) };
    },
  };
}

/** The code alone: a message may quote the file, which may hold a secret. */
function yamlFaults(yaml: Document): SyntaxFault[] {
  return [...yaml.errors, ...yaml.warnings].map(({ code, pos }) => ({
    offset: pos[0],
    message: `is not valid YAML: ${code.toLowerCase().replaceAll('_', ' ')}`,
  }));
}

function findOffset(yaml: Document, path: Path, target: 'key' | 'value'): number {
  let node: unknown = yaml.contents;
  let offset = offsetOf(node) ?? 0;
  for (const [depth, step] of path.entries()) {
    const last = depth === path.length - 1;
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && key.value === step);
      if (pair === undefined) return offset;
      node = last && target === 'key' ? pair.key : pair.value;
    } else {
      node = isSeq(node) && typeof step === 'number' ? node.items[step] : undefined;
    }
    offset = offsetOf(node) ?? offset;
  }
  return offset;
}

const DEEPEST = 20;

/** One place in the text that isn't accepted. */
type SyntaxFault = { readonly offset: number; readonly message: string };

/** The data of `node`; what can't be data is noted in `faults`. */
function toPlain(node: unknown, faults: SyntaxFault[], depth = 0): unknown {
  if (depth > DEEPEST) return refuse(node, 'is nested too deeply', faults);
  if (isAlias(node))
    return refuse(node, 'has a YAML alias (*…), which is not supported: write the value again', faults);
  if (isScalar(node)) return node.value;
  if (isSeq(node)) return node.items.map((item) => toPlain(item, faults, depth + 1));
  return isMap(node) ? toRecord(node, faults, depth) : null;
}

function refuse(node: unknown, message: string, faults: SyntaxFault[]): undefined {
  faults.push({ offset: offsetOf(node) ?? 0, message });
}

function toRecord(map: YAMLMap, faults: SyntaxFault[], depth: number): Record<string, unknown> {
  const entries = new Map<string, unknown>();
  for (const { key, value } of map.items) {
    const name = isScalar(key) ? key.value : undefined;
    if (typeof name !== 'string') {
      refuse(key, 'has a key that is not text: put it in quotes', faults);
    } else if (entries.has(name)) {
      refuse(key, `has the key ${quoted(name)} twice`, faults);
    } else if (name === '__proto__') {
      refuse(key, 'unknown key "__proto__"', faults);
    } else {
      entries.set(name, toPlain(value, faults, depth + 1));
    }
  }
  return Object.fromEntries(entries);
}

/** A key for a message: one line, and short. */
export function quoted(name: string): string {
  const text = escaped(JSON.stringify(name));
  return text.length > 60 ? `${text.slice(0, 58)}…"` : text;
}

const offsetOf = (node: unknown): number | undefined => (isNode(node) ? node.range?.[0] : undefined);
