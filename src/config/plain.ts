// Turns a YAML tree into plain data: maps with text keys, lists and scalars. No aliases, so that a small file can't stand
// for a large one, and no key twice.
import { isAlias, isMap, isScalar, isSeq, type YAMLMap } from 'yaml';

const DEEPEST = 20;

/** One place in the text that isn't accepted. */
export type SyntaxFault = { readonly offset: number; readonly message: string };

/** The data of `node`; what can't be data is noted in `faults`. */
export function toPlain(node: unknown, faults: SyntaxFault[], depth = 0): unknown {
  if (depth > DEEPEST) {
    faults.push({ offset: offsetOf(node), message: 'is nested too deeply' });
    return undefined;
  }
  if (isAlias(node)) {
    faults.push({
      offset: offsetOf(node),
      message: 'has a YAML alias (*…), which is not supported: write the value again',
    });
    return undefined;
  }
  if (isScalar(node)) return node.value;
  if (isSeq(node)) return node.items.map((item) => toPlain(item, faults, depth + 1));
  return isMap(node) ? toRecord(node, faults, depth) : null;
}

function toRecord(map: YAMLMap, faults: SyntaxFault[], depth: number): Record<string, unknown> {
  const entries = new Map<string, unknown>();
  for (const { key, value } of map.items) {
    const name = isScalar(key) ? key.value : undefined;
    if (typeof name !== 'string') {
      faults.push({ offset: offsetOf(key), message: 'has a key that is not text: put it in quotes' });
    } else if (entries.has(name)) {
      faults.push({ offset: offsetOf(key), message: `has the key ${quoted(name)} twice` });
    } else if (name === '__proto__') {
      faults.push({ offset: offsetOf(key), message: 'unknown key "__proto__"' });
    } else {
      entries.set(name, toPlain(value, faults, depth + 1));
    }
  }
  return Object.fromEntries(entries);
}

/** A key for a message: one line, and short. */
export function quoted(name: string): string {
  const text = JSON.stringify(name);
  return text.length > 60 ? `${text.slice(0, 58)}…"` : text;
}

function offsetOf(node: unknown): number {
  return isAlias(node) || isMap(node) || isSeq(node) || isScalar(node) ? (node.range?.[0] ?? 0) : 0;
}
