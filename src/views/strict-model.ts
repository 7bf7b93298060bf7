// A model that notices when a template asks for a field that pages never get: a typo that would print nothing.
import { fieldsOf } from './models.ts';

/** Asked for by JavaScript itself, or of any object and text. */
const ALWAYS = new Set(['toJSON', 'then', 'constructor', 'toString', 'valueOf', 'hasOwnProperty']);

/** `onUnknown` gets the path, as `model.client.nmae`, and the fields that there are. */
export function toStrictModel(
  value: unknown,
  schema: unknown,
  path: string,
  onUnknown: (path: string, known: readonly string[]) => void,
): unknown {
  const fields = fieldsOf(schema);
  if (fields === undefined || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((entry) => toStrictModel(entry, schema, path, onUnknown));
  return new Proxy(value, {
    get(target, key, receiver) {
      const found: unknown = Reflect.get(target, key, receiver);
      if (typeof key === 'symbol' || ALWAYS.has(key)) return found;
      if (Object.hasOwn(fields, key)) return toStrictModel(found, fields[key], `${path}.${key}`, onUnknown);
      onUnknown(`${path}.${key}`, Object.keys(fields));
      return undefined;
    },
  });
}
