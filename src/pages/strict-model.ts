// A model that notices when a template asks it for a field that pages never get: a typo that would print nothing.
import { OBJECTS, type Shape } from './fields.ts';

/** Asked for by JavaScript itself, or of any object and text. */
const ALWAYS = new Set(['toJSON', 'then', 'constructor', 'toString', 'valueOf', 'hasOwnProperty']);

/** `onUnknown` gets the path, as `model.client.nmae`, and the fields that there are. */
export function toStrictModel(
  value: unknown,
  shape: Shape,
  path: string,
  onUnknown: (path: string, known: readonly string[]) => void,
): unknown {
  if (shape === 'value' || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((entry) => toStrictModel(entry, shape, path, onUnknown));
  const fields: Readonly<Record<string, Shape>> = typeof shape === 'string' ? OBJECTS[shape] : shape;
  return new Proxy(value, {
    get(target, key, receiver) {
      const found: unknown = Reflect.get(target, key, receiver);
      if (typeof key === 'symbol' || ALWAYS.has(key)) return found;
      const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
      if (field !== undefined) return toStrictModel(found, field, `${path}.${key}`, onUnknown);
      onUnknown(`${path}.${key}`, Object.keys(fields));
      return undefined;
    },
  });
}
