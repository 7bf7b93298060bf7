// Reads values from other providers' files. A value of another type counts as absent.
import { isRecord } from '../../config/parse-fields.ts';

export type Fields = Readonly<Record<string, unknown>>;

export const textOf = (value: unknown) => (typeof value === 'string' ? value : '');
export const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
export const recordsOf = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isRecord) : []);
/** The value at a path of keys, separated by slashes. */
export const valueAt = (node: unknown, path: string): unknown =>
  path.split('/').reduce((inner, key) => (isRecord(inner) ? inner[key] : undefined), node);
