// Reads values from other providers' files. A value of another type counts as absent.
import { isRecord } from '../../config/parse-fields.ts';

export type Fields = Readonly<Record<string, unknown>>;

export const textOf = (value: unknown) => (typeof value === 'string' ? value : '');
export const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
export const recordsOf = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isRecord) : []);
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
/** The value at a path of keys and indexes, separated by slashes. */
export const valueAt = (node: unknown, path: string): unknown =>
  path
    .split('/')
    .reduce((inner, key): unknown => (isObject(inner) ? Reflect.get(inner, key) : undefined), node);

const OFF = ['', 'false', '0', '-1', 'null', '[]', '{}'];
const isOff = (value: unknown) => OFF.includes(typeof value === 'string' ? value : JSON.stringify(value));
const below = (container: object, at: string, key: unknown) =>
  Array.isArray(container) ? `${at}[]` : `${at}.${String(key)}`;
const SEEN = new WeakMap<object, (known: RegExp) => readonly string[]>();

/** The paths below a result of `recordReads` that weren't read, without values that are off. */
export const unreadIn = (recorder: unknown, known: RegExp) =>
  SEEN.get(Object(recorder) as object)?.(known) ?? [];

/** Reading a value of the result records its path. `.clients[].id` is the path of an item's member. */
export function recordReads(value: unknown, path = '', read = new Set<string>()): unknown {
  if (!isObject(value)) return value;
  const recorder = new Proxy(value, {
    get(target, key) {
      const at = below(target, path, key);
      read.add(at);
      return recordReads(Reflect.get(target, key), at, read);
    },
  });
  SEEN.set(recorder, (known) => {
    const walk = (container: object, above: string): string[] =>
      Object.entries(container).flatMap(([key, inner]: readonly [string, unknown]) => {
        const at = below(container, above, key);
        if (isOff(inner) || known.test(at)) return [];
        if (!read.has(at)) return at.slice(path.length + 1);
        return isObject(inner) ? walk(inner, at) : [];
      });
    return [...new Set(walk(value, path))];
  });
  return recorder;
}
