// Converts the keys of the file to camel case: `client_id` becomes clientId.
import * as z from 'zod';

type CamelCase<K> = K extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelCase<Tail>>}` : K;

/** `T` with its own keys in camel case. Nested keys stay as they are. */
export type CamelKeys<T> = {
  readonly [K in keyof T as CamelCase<K>]: T[K] extends (infer E)[] ? readonly E[] : T[K];
};

export function camelKeys<T extends object>(form: T): CamelKeys<T> {
  const entries = Object.entries(form).map(([key, value]: [string, unknown]) => [toCamelCase(key), value]);
  // CamelKeys makes the same replacement in the type.
  return Object.fromEntries(entries) as CamelKeys<T>;
}

/** A cache by key: schemas have few keys, and files have thousands of entries. */
const camelCase = new Map<string, string>();

function toCamelCase(key: string): string {
  const known = camelCase.get(key) ?? key.replaceAll(/_[a-z]/g, (part) => part.slice(1).toUpperCase());
  camelCase.set(key, known);
  return known;
}

/** Converts `clientName` to `client_name`, the key in the file. */
export const toFileKey = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The schema of a map with only these keys. Its output has them in camel case. */
export function group<S extends z.core.$ZodLooseShape>(shape: S) {
  return z.strictObject(shape).transform((form) => camelKeys(form));
}
