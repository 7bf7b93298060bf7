// Applies a schema to a part of a file, and reports each fault at its position.
import * as z from 'zod';
import { quoted } from './yaml.ts';
import type { Report } from './problems.ts';

/** Returns the output of `schema` for `node`, or undefined after reporting all faults. */
export function parse<S extends z.ZodType>(
  schema: S,
  node: unknown,
  report: Report,
): z.output<S> | undefined {
  const known = new Map<readonly string[], readonly string[]>();
  const { success, data, error } = schema.safeParse(node, {
    error(issue) {
      if (issue.code === 'unrecognized_keys' && issue.inst instanceof z.ZodObject)
        known.set(issue.keys, Object.keys(issue.inst.shape));
      return describe(issue);
    },
  });
  if (success) return data;
  for (const issue of error.issues) {
    const place = issue.path.filter((step) => typeof step !== 'symbol');
    if (issue.code !== 'unrecognized_keys') {
      report(place, issue.message);
      continue;
    }
    for (const key of issue.keys.slice(0, MOST_UNKNOWN_KEYS)) {
      // The text after a colon without a space is a value, which may be a secret.
      const [name = '', ...value] = key.split(':');
      const shown = value.length > 0 ? `${name}:…` : key;
      report(
        [...place, shown],
        `unknown key ${quoted(shown)}${didYouMean(name, known.get(issue.keys) ?? [])}`,
        'key',
      );
    }
  }
  return undefined;
}

// A file with many unknown keys is the wrong file, and a list of all of them doesn't help.
const MOST_UNKNOWN_KEYS = 20;

/** `: did you mean "group", "groups"?` with the candidates that begin with the same two letters, or nothing if there is none. */
export function didYouMean(word: string, candidates: readonly string[]): string {
  const similar = candidates.filter(
    (one) => word.length > 1 && one.startsWith(word.slice(0, 2).toLowerCase()),
  );
  return similar.length === 0 ? '' : `: did you mean "${similar.join('", "')}"?`;
}

/** Replaces the messages of zod. Never repeats the value, which may be a secret. */
function describe(issue: z.core.$ZodRawIssue): string | undefined {
  const { input } = issue;
  if (input === undefined) return 'is required';
  if (input === null) return 'is empty: set a value, or remove the key';
  if (issue.code === 'invalid_value') {
    return `must be one of ${issue.values.join(', ')}`;
  }
  if (issue.code !== 'invalid_type') return undefined;
  if (issue.expected === 'string' && ['number', 'boolean'].includes(typeof input))
    return `must be text, but YAML reads it as a ${typeof input}: put it in quotes`;
  const found = TYPES[Array.isArray(input) ? 'array' : typeof input];
  return `must be ${TYPES[issue.expected] ?? issue.expected}${found === undefined ? '' : `, not ${found}`}`;
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map',
  record: 'a map',
};

/** Returns undefined for any other text. */
export function parseJsonObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Whether this is a map of YAML, or an object of JSON. */
export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
