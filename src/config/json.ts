// Reads JSON with a tenth of the time and memory that the YAML parser takes for it.
import type { Located, Path } from './problems.ts';
import { DEEPEST, positionsIn } from './yaml.ts';

/** A text, and the colon after it that makes it a key; a mark; a number or word. */
const TOKEN = /"(?:[^"\\]|\\.)*"(\s*:)?|[[\]{},]|[^\s"[\]{},]+/g;

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
  for (const [, colon] of source.matchAll(TOKEN)) if (colon !== undefined) keys -= 1;
  return keys === 0 ? content : undefined;
}

/** For JSON that parseJson takes. Positions are found when the first one is needed. */
export function locateInJson(source: string): Located['locate'] {
  let offsets: ReadonlyMap<string, number> | undefined;
  const positionOf = positionsIn(source);
  return (path, target) => {
    offsets ??= offsetsOf(source);
    for (let length = path.length; ; length -= 1) {
      const isKey = target === 'key' && length === path.length;
      const offset = offsets.get(nameOf(path.slice(0, length), isKey));
      if (offset !== undefined || length === 0) return positionOf(offset ?? 0);
    }
  };
}

const nameOf = (path: Path, isKey = false) => `${isKey}${JSON.stringify(path)}`;

/** Where each key and each value begins. */
function offsetsOf(source: string): ReadonlyMap<string, number> {
  const offsets = new Map<string, number>();
  const at: (string | number)[] = [];
  for (const { 0: token, 1: colon, index } of source.matchAll(TOKEN)) {
    if (colon !== undefined) {
      at[at.length - 1] = String(JSON.parse(token.slice(0, -colon.length)));
      offsets.set(nameOf(at, true), index);
    } else if (token === ',') {
      const last = at.at(-1);
      if (typeof last === 'number') at[at.length - 1] = last + 1;
    } else if (token === ']' || token === '}') {
      at.pop();
    } else {
      offsets.set(nameOf(at), index);
      if (token === '[') at.push(0);
      if (token === '{') at.push('');
    }
  }
  return offsets;
}
