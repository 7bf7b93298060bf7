// Applies a schema to what a file says, and has the words for what a schema refuses.
import * as z from 'zod';
import { quoted } from './document.ts';
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

const EXPECTED: Readonly<Record<string, string>> = {
  string: 'text',
  boolean: 'true or false',
  array: 'a list',
  object: 'keys and values',
  record: 'keys and values',
  int: 'a whole number',
  number: 'a number',
};

/** The words for what a schema has no words of its own for. Never the value itself: it may be a secret. */
function describe(issue: z.core.$ZodRawIssue): string | undefined {
  const { input } = issue;
  if (input === undefined) return 'is required';
  if (input === null) return 'is empty: give it a value, or remove the key';
  if (issue.code === 'invalid_value') {
    const known = issue.values.map(String);
    return `must be one of ${known.join(', ')}${typeof input === 'string' ? didYouMean(input, known) : ''}`;
  }
  if (issue.code !== 'invalid_type') return undefined;
  if (issue.expected === 'string' && (typeof input === 'number' || typeof input === 'boolean')) {
    return `must be text, but YAML reads it as ${nameOf(input)}: put it in quotes`;
  }
  return `must be ${EXPECTED[issue.expected] ?? issue.expected}, not ${nameOf(input)}`;
}

function nameOf(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  const names: Readonly<Record<string, string>> = {
    object: 'keys and values',
    string: 'text',
    number: 'a number',
  };
  return names[typeof value] ?? 'true or false';
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
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
