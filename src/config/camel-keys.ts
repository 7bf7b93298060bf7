// The keys of the file under the names that the service uses: `client_id` becomes clientId.
import * as z from 'zod';

type CamelCase<K> = K extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelCase<Tail>>}` : K;

/** `T` with other names for its keys; what is below them stays as it is. */
export type CamelKeys<T> = {
  readonly [K in keyof T as CamelCase<K>]: T[K] extends (infer E)[] ? readonly E[] : T[K];
};

export function camelKeys<T extends object>(form: T): CamelKeys<T> {
  const entries = Object.entries(form).map(([key, value]: [string, unknown]) => [toCamelCase(key), value]);
  // The type is the same replacement.
  return Object.fromEntries(entries) as CamelKeys<T>;
}

/** By key: schemas have few, and files thousands of entries. */
const camelCase = new Map<string, string>();

function toCamelCase(key: string): string {
  const known = camelCase.get(key) ?? key.replaceAll(/_[a-z]/g, (part) => part.slice(1).toUpperCase());
  camelCase.set(key, known);
  return known;
}

/** `clientName` as the file has it: `client_name`. */
export const toFileKey = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** A map of the file with these keys and no others. */
export function group<S extends z.core.$ZodLooseShape>(shape: S) {
  return z.strictObject(shape).transform((form) => camelKeys(form));
}
