// Reads YAML into plain data (maps with text keys, lists and scalars), with the position of each value. There are no aliases, so that
// a small file can't stand for a large one (CWE-776).
import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type YAMLError,
  type YAMLMap,
} from 'yaml';
import type { Located, Path, Position } from './problems.ts';
import { escaped } from './text.ts';

export const DEEPEST = 20;

// After the first few, syntax errors are consequences of earlier ones.
const MOST_FAULTS = 5;

type Fault = { readonly offset: number; readonly message: string };

type Yaml = Readonly<{
  content: unknown;
  /** Whether the document is the word `null`. */
  isNull: boolean;
  locate: Located['locate'];
}>;

type Faulty = { readonly faults: readonly (Position & { readonly message: string })[] };

/** A tree takes a hundred times the memory of its text. So a long list is parsed in parts, and no tree is kept for positions. */
export function parseYaml(source: string, partLength = PART_LENGTH): Yaml | Faulty {
  const list = source.length > partLength ? cutList(source, partLength) : undefined;
  const { key, head, parts } = list ?? { key: undefined, head: { source, at: 0 }, parts: [] };
  const positionOf = positionsIn(source);
  const faults: Fault[] = [];
  const { content, isNull } = readPart(head, faults);
  const items: unknown[] = [];
  const firsts: number[] = [];
  for (const part of parts) {
    if (faults.length >= MOST_FAULTS) break;
    firsts.push(items.length);
    const some = readPart(part, faults, key === undefined ? 0 : 1).content;
    if (Array.isArray(some)) for (const item of some as readonly unknown[]) items.push(item);
  }
  if (faults.length > 0) {
    const first = faults.slice(0, MOST_FAULTS);
    return { faults: first.map(({ offset, message }) => ({ ...positionOf(offset), message })) };
  }
  let located: { readonly tree: Document; readonly part: Part } | undefined;
  const find = (part: Part, path: Path, target: 'key' | 'value') => {
    if (located?.part !== part) located = { tree: parseTree(part.source), part };
    return positionOf(part.at + findOffset(located.tree, path, target));
  };
  if (!list) return { content, isNull, locate: (path, target) => find(head, path, target) };
  return {
    content: key === undefined ? items : { [key]: items },
    isNull,
    locate(path, target) {
      const [index, ...within] = key === undefined ? path : path.slice(1);
      if (typeof index !== 'number' || index >= items.length) return find(head, path, target);
      const number = firsts.findLastIndex((first) => first <= index);
      return find(parts[number] ?? head, [index - (firsts[number] ?? 0), ...within], target);
    },
  };
}

/** For JSON, which is YAML, too: the tree is made for the first problem. */
export function locateInJson(source: string): Located['locate'] {
  const positionOf = positionsIn(source);
  let tree: Document | undefined;
  return (path, target) => positionOf(findOffset((tree ??= parseTree(source)), path, target));
}

function readPart({ source, at }: Part, faults: Fault[], depth = 0) {
  const { contents, errors, warnings } = parseTree(source);
  const found = [...errors, ...warnings].map(toFault);
  const content = found.length === 0 ? toPlain(contents, found, depth) : undefined;
  for (const { offset, message } of found) faults.push({ offset: at + offset, message });
  return { content, isNull: content === null && isScalar(contents) && contents.source !== '' };
}

type Part = {
  readonly source: string;
  /** Its offset in the file. */
  readonly at: number;
};

type List = Readonly<{
  /** Undefined if the document is the list. */
  key: string | undefined;
  /** What precedes the items, and the mark of the first. */
  head: Part;
  parts: readonly Part[];
}>;

/** In characters. */
const PART_LENGTH = 100_000;

// Only \n ends a line in YAML, unlike in a regular expression.
const LINE = /[^\n]+/g;
const BLANK = /^ *(?:#|\r?$)/;
const LIST_KEY = /^([a-z_]+): *(?: #.*)?\r?$/;
const FIRST_ITEM = /^( *)-(?:[ \r]|$)/;

/** A list in block style that is the whole document, or the value of its only key: no line has less indentation than the items. */
function cutList(source: string, partLength: number): List | undefined {
  const found = findFirstItem(source);
  if (!found) return undefined;
  const { key, indent, first } = found;
  const head = { source: source.slice(0, first + `${indent}-`.length), at: 0 };
  const item = new RegExp(`^${indent}-(?:[ \\r]|$)`);
  let at = first;
  const parts: Part[] = [];
  for (const { 0: line, index } of source.slice(first).matchAll(LINE)) {
    if (item.test(line)) {
      const start = first + index;
      if (start - at < partLength) continue;
      parts.push({ source: source.slice(at, start), at });
      at = start;
    } else if (!line.startsWith(`${indent} `) && !BLANK.test(line)) {
      return undefined;
    }
  }
  parts.push({ source: source.slice(at), at });
  return { key, head, parts };
}

/** The key of the list, the indentation of its items, and where the first one begins. */
function findFirstItem(source: string) {
  let key: string | undefined;
  for (const { 0: line, index } of source.matchAll(LINE)) {
    const indent = FIRST_ITEM.exec(line)?.[1];
    if (indent !== undefined) return { key, indent, first: index };
    if (BLANK.test(line)) continue;
    const name = LIST_KEY.exec(line)?.[1];
    if (name === undefined || key !== undefined) return undefined;
    key = name;
  }
  return undefined;
}

function parseTree(source: string): Document {
  // uniqueKeys compares every pair of keys, minutes for a hostile file; toPlain finds duplicates in one pass.
  // prettyErrors would quote the file, secrets included.
  return parseDocument(source, { prettyErrors: false, uniqueKeys: false });
}

/** For the parser's most frequent codes: what to check. */
const HINTS: Readonly<Partial<Record<string, string>>> = {
  BAD_INDENT: 'check the indentation',
  BLOCK_AS_IMPLICIT_KEY: 'check the indentation, and put a value with a colon in quotes',
  MISSING_CHAR: 'a quote, bracket, comma, colon or space is missing',
  MULTILINE_IMPLICIT_KEY: 'check the indentation, and add a colon after each key',
  TAB_AS_INDENT: 'indent with spaces instead of tabs',
};

/** Without the parser's message: it may quote the file, and so a secret. */
const toFault = ({ code, pos }: YAMLError): Fault => ({
  offset: pos[0],
  message: `is not valid YAML: ${HINTS[code] ?? code.toLowerCase().replaceAll('_', ' ')}`,
});

/** Gives the position of an offset of `source`. */
function positionsIn(source: string): (offset: number) => Position {
  let lines: LineCounter | undefined;
  return (offset) => {
    if (!lines) {
      lines = new LineCounter();
      lines.addNewLine(0);
      for (const { index } of source.matchAll(/\n/g)) lines.addNewLine(index + 1);
    }
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
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

/** The data of `node`; what can't be data is noted in `faults`. */
function toPlain(node: unknown, faults: Fault[], depth = 0): unknown {
  if (depth > DEEPEST) return refuse(node, `is nested more than ${DEEPEST} levels deep`, faults);
  if (isAlias(node))
    return refuse(node, 'has a YAML alias (*…), which is not supported: repeat the value', faults);
  if (isScalar(node)) return node.value;
  if (isSeq(node)) return node.items.map((item) => toPlain(item, faults, depth + 1));
  return isMap(node) ? toRecord(node, faults, depth) : null;
}

function refuse(node: unknown, message: string, faults: Fault[]): undefined {
  faults.push({ offset: offsetOf(node) ?? 0, message });
}

function toRecord(map: YAMLMap, faults: Fault[], depth: number): Record<string, unknown> {
  const entries = new Map<string, unknown>();
  for (const { key, value } of map.items) {
    const name = isScalar(key) ? key.value : undefined;
    if (typeof name !== 'string') {
      refuse(key, 'has a key that is not text: put it in quotes', faults);
    } else if (entries.has(name)) {
      refuse(key, `duplicate key ${quoted(name)}: remove one`, faults);
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
