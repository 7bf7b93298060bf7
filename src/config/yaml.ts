// Parses YAML into plain data with the position of each value. Rejects aliases, which expand a small file to a large one (CWE-776).
import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Pair,
  parseDocument,
  type YAMLError,
  type YAMLMap,
} from 'yaml';
import type { Located, Path, Position } from './problems.ts';
import { escaped } from './text.ts';

export const DEEPEST = 20;

// After the first few, syntax errors are consequences of earlier ones.
const MOST_FAULTS = 5;

type Fault = Readonly<{ offset: number; message: string }>;

/** A tree takes a hundred times the memory of its text, so a long list is parsed in parts. With faults, the content isn't whole. */
export function parseYaml(source: string, partLength = PART_LENGTH) {
  const list = source.length > partLength ? readList(source, partLength) : undefined;
  if (list !== undefined) return { content: list, faults: [] };
  const { content, faults, positionOf } = readWhole(source);
  const first = faults.slice(0, MOST_FAULTS);
  return { content, faults: first.map(({ offset, message }) => ({ ...positionOf(offset), message })) };
}

/** Parses the tree for the first problem only. */
export function locateIn(source: string): Located['locate'] {
  let parsed: ReturnType<typeof parseTree> | undefined;
  return (path, target) => {
    const { tree, positionOf } = (parsed ??= parseTree(source));
    return positionOf(findOffset(tree, path, target));
  };
}

function readWhole(source: string) {
  const { tree, positionOf } = parseTree(source);
  const faults = [...tree.errors, ...tree.warnings].map(toFault);
  const content = faults.length === 0 ? toPlain(tree.contents, faults) : undefined;
  return { content, faults, positionOf };
}

/** In characters. */
const PART_LENGTH = 100_000;

/** The text before the first item of a block-style list that is the whole document, or the value of its only key. */
const HEAD = /^(?: *(?:#.*)?\r?\n)*(?:([a-z_]+):(?: +#.*| *)\r?\n(?: *(?:#.*)?\r?\n)*)?( *)(?=- )/;

/** Parses such a list in parts. Returns undefined if it is something else, or has a fault. */
function readList(source: string, partLength: number): unknown {
  const [head, key, indent = ''] = HEAD.exec(source) ?? [];
  if (head === undefined || /\n(?:---|\.{3})/.test(source)) return undefined;
  const items: unknown[] = [];
  const start = head.slice(0, head.length - indent.length);
  for (const part of partsOf(source.slice(start.length), `${indent}- `, partLength)) {
    const { content, faults } = readWhole(start + part);
    const found = key === undefined ? content : onlyValueOf(content);
    if (faults.length > 0 || !Array.isArray(found)) return undefined;
    for (const item of found as readonly unknown[]) items.push(item);
  }
  return key === undefined ? items : { [key]: items };
}

function onlyValueOf(map: unknown): unknown {
  const values: readonly unknown[] = Object.values(Object(map));
  return values.length === 1 ? values[0] : undefined;
}

/** Splits a list into parts of some items each. Only \n ends a line in YAML, unlike in a regular expression. */
function* partsOf(list: string, mark: string, partLength: number): Generator<string> {
  let from = 0;
  while (from < list.length) {
    const next = list.indexOf(`\n${mark}`, from + partLength) + 1;
    const to = next > 0 ? next : list.length;
    yield list.slice(from, to);
    from = to;
  }
}

function parseTree(source: string) {
  const lineCounter = new LineCounter();
  // uniqueKeys compares every pair of keys, minutes for a hostile file; toPlain finds duplicates in one pass.
  // prettyErrors would quote the file, secrets included.
  const tree = parseDocument(source, { lineCounter, prettyErrors: false, uniqueKeys: false });
  const positionOf = (offset: number): Position => {
    const { line, col } = lineCounter.linePos(offset);
    return { line, column: col };
  };
  return { tree, positionOf };
}

const HINTS: Readonly<Partial<Record<string, string>>> = {
  BAD_INDENT: 'check the indentation',
  BLOCK_AS_IMPLICIT_KEY: 'check the indentation, and put a value with a colon in quotes',
  MISSING_CHAR: 'a quote, bracket, comma, colon or space is missing',
  MULTILINE_IMPLICIT_KEY: 'check the indentation, and add a colon after each key',
  TAB_AS_INDENT: 'indent with spaces instead of tabs',
};

/** Omits the parser's message, which may quote the file, and so a secret. */
const toFault = ({ code, pos }: YAMLError): Fault => ({
  offset: pos[0],
  message: `is not valid YAML: ${HINTS[code] ?? code.toLowerCase().replaceAll('_', ' ')}`,
});

function findOffset(yaml: Document, path: Path, target: 'key' | 'value'): number {
  let node: unknown = yaml.contents;
  let offset = offsetOf(node) ?? 0;
  for (const [depth, step] of path.entries()) {
    const last = depth === path.length - 1;
    if (isMap(node)) {
      const pair = pairOf(node, step);
      if (pair === undefined) return offset;
      node = last && target === 'key' ? pair.key : pair.value;
    } else {
      node = isSeq(node) && typeof step === 'number' ? node.items[step] : undefined;
    }
    offset = offsetOf(node) ?? offset;
  }
  return offset;
}

/** Indexed, because each entry of a large map can have a problem. */
const PAIRS = new WeakMap<YAMLMap, Map<unknown, Pair>>();

function pairOf(map: YAMLMap, step: unknown): Pair | undefined {
  const pairs =
    PAIRS.get(map) ?? new Map(map.items.map((pair) => [isScalar(pair.key) && pair.key.value, pair]));
  PAIRS.set(map, pairs);
  return pairs.get(step);
}

/** Converts `node` to plain data. Adds nodes that can't be data to `faults`. */
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

/** Quotes a key for a message, on one short line. */
export function quoted(name: string): string {
  const text = escaped(JSON.stringify(name));
  return text.length > 60 ? `${text.slice(0, 58)}…"` : text;
}

const offsetOf = (node: unknown): number | undefined => (isNode(node) ? node.range?.[0] : undefined);
