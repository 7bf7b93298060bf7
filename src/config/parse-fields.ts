// Applies a schema to what a file says, and reports each fault in its place.
import * as z from 'zod';
import { quoted } from './yaml.ts';
import type { Report } from './problems.ts';
import { didYouMean } from './wording.ts';

/** What `schema` makes of `node`, or undefined after every fault was reported. */
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
      // After a colon without a space comes a value, which may be a secret.
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

// A file full of unknown keys is the wrong file; naming all of them is no help.
const MOST_UNKNOWN_KEYS = 20;

/** Instead of what zod would say, without the value itself, which may be a secret. */
function describe(issue: z.core.$ZodRawIssue): string | undefined {
  const { input } = issue;
  if (input === undefined) return 'is required';
  if (input === null) return 'is empty: give it a value, or remove the key';
  if (issue.code === 'invalid_value') {
    return `must be one of ${issue.values.join(', ')}`;
  }
  const isUnquoted = ['number', 'boolean'].includes(typeof input);
  return issue.code === 'invalid_type' && issue.expected === 'string' && isUnquoted
    ? `must be text, but YAML reads it as a ${typeof input}: put it in quotes`
    : undefined;
}

/** The object that `text` is the JSON of, if it is one. */
export function parseJsonObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Whether this is what a YAML map became. */
export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
