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
export function parseYaml(source: string): Yaml | Faulty {
  const list = cutList(source);
  const parts = list?.parts ?? [{ source, at: 0 }];
  const positionOf = positionsIn(source);
  const items: unknown[] = [];
  const firsts: number[] = [];
  let isNull = false;
  for (const { source: text, at } of parts) {
    const { contents, errors, warnings } = parseTree(text);
    const faults = [...errors, ...warnings].map(toFault);
    const content = faults.length === 0 ? toPlain(contents, faults) : undefined;
    if (faults.length > 0) {
      const first = faults.slice(0, MOST_FAULTS);
      return { faults: first.map(({ offset, message }) => ({ ...positionOf(at + offset), message })) };
    }
    isNull = content === null && isScalar(contents) && contents.source !== '';
    firsts.push(items.length);
    for (const item of list ? (content as readonly unknown[]) : [content]) items.push(item);
  }
  let located: { readonly tree: Document; readonly number: number } | undefined;
  const find = (number: number, path: Path, target: 'key' | 'value') => {
    const { source: text = '', at = 0 } = parts[number] ?? {};
    if (located?.number !== number) located = { tree: parseTree(text), number };
    return positionOf(at + findOffset(located.tree, path, target));
  };
  if (!list) return { content: items[0], isNull, locate: (path, target) => find(0, path, target) };
  const { key, at } = list;
  return {
    content: key === undefined ? items : { [key]: items },
    isNull,
    locate(path, target) {
      const [index, ...within] = key === undefined ? path : path.slice(1);
      if (typeof index !== 'number') return positionOf(at);
      const number = firsts.findLastIndex((first) => first <= index);
      return find(number, [index - (firsts[number] ?? 0), ...within], target);
    },
  };
}

/** Some items of a list. */
type Part = {
  readonly source: string;
  /** Its offset in the file. */
  readonly at: number;
};

type List = Readonly<{
  /** Undefined if the document is the list. */
  key: string | undefined;
  at: number;
  parts: readonly Part[];
}>;

/** In characters. */
const PART_LENGTH = 100_000;

/** What precedes the items of a list in block style that is the whole document, or the value of its only key. */
const LIST_HEAD = /^(?:[ \t]*(?:#.*)?\n)*(?:([a-z_]+):[ \t]*(?:#.*)?\n(?:[ \t]*(?:#.*)?\n)*)?(?=( *)-\s)/d;

/** Undefined for a short document, and for one that may hold anything else: a line with less indentation than the items. */
function cutList(source: string): List | undefined {
  const head = source.length > PART_LENGTH ? LIST_HEAD.exec(source) : null;
  if (!head) return undefined;
  const [{ length }, key, indent = ''] = head;
  const isOther = new RegExp(`^(?!\\s*(?:#|$)|${indent}(?: |-\\s))`, 'm');
  if (isOther.test(source.slice(length))) return undefined;
  const parts: Part[] = [];
  let at = length;
  for (const { index } of source.matchAll(new RegExp(`^${indent}-\\s`, 'gm'))) {
    if (index - at < PART_LENGTH) continue;
    parts.push({ source: source.slice(at, index), at });
    at = index;
  }
  parts.push({ source: source.slice(at), at });
  return { key, at: head.indices?.[1]?.[0] ?? length, parts };
}

function parseTree(source: string): Document {
  // uniqueKeys compares every pair of keys, minutes for a hostile file; toPlain finds duplicates in one pass.
  // prettyErrors would quote the file, secrets included.
  return parseDocument(source, { prettyErrors: false, uniqueKeys: false });
}

/** The code alone: a message may quote the file, which may hold a secret. */
const toFault = ({ code, pos }: YAMLError): Fault => ({
  offset: pos[0],
  message: `is not valid YAML: ${code.toLowerCase().replaceAll('_', ' ')}`,
});

/** Gives the position of an offset of `source`. */
export function positionsIn(source: string): (offset: number) => Position {
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
  if (depth > DEEPEST) return refuse(node, 'is nested too deeply', faults);
  if (isAlias(node))
    return refuse(node, 'has a YAML alias (*…), which is not supported: write the value again', faults);
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
