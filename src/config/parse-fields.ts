// Applies a schema field by field, so that one wrong field doesn't hide what is wrong with the others, and has the words
// for what a schema refuses.
import * as z from 'zod';
import { quoted } from './document.ts';
import type { Path, Report } from './problems.ts';
import { didYouMean } from './wording.ts';

/** What could be understood of an object, and the keys that couldn't. */
type Parsed<S extends z.ZodObject> = {
  readonly value: Partial<z.output<S>>;
  readonly broken: ReadonlySet<string>;
};

/** Parses each field of `node` by itself; unknown keys are reported and ignored. */
export function parseFields<S extends z.ZodObject>(schema: S, node: unknown, report: Report): Parsed<S> {
  const keys = Object.keys(schema.shape);
  if (!isRecord(node)) {
    report([], `must be keys and values, not ${nameOf(node)}`);
    return { value: {}, broken: new Set(keys) };
  }
  reportUnknown(
    Object.keys(node).filter((key) => !keys.includes(key)),
    { known: keys, path: [], report },
  );
  const value: Partial<z.output<S>> = {};
  const broken = new Set<string>();
  for (const key of keys) {
    const field: unknown = schema.shape[key];
    if (!(field instanceof z.ZodType)) continue;
    const result = field.safeParse(node[key], { error: describe });
    if (result.success) {
      Object.assign(value, { [key]: result.data });
    } else {
      broken.add(key);
      reportIssues(result.error.issues, { field, key, report });
    }
  }
  return { value, broken };
}

type Field = { readonly field: z.ZodType; readonly key: string; readonly report: Report };

function reportIssues(issues: readonly z.core.$ZodIssue[], { field, key, report }: Field): void {
  for (const issue of issues) {
    const steps = issue.path.filter((step) => typeof step !== 'symbol');
    const place = [key, ...steps];
    if (issue.code === 'unrecognized_keys') {
      reportUnknown(issue.keys, { known: knownKeys(field, steps), path: place, report });
    } else {
      report(place, issue.message);
    }
  }
}

// A file full of unknown keys is the wrong file; naming all of them is no help.
const MOST_UNKNOWN_KEYS = 20;

type Known = { readonly known: readonly string[]; readonly path: Path; readonly report: Report };

function reportUnknown(keys: readonly string[], { known, path, report }: Known): void {
  for (const key of keys.slice(0, MOST_UNKNOWN_KEYS)) {
    // After a colon without a space comes a value, which may be a secret.
    const [name = '', ...value] = key.split(':');
    const shown = value.length > 0 ? `${name}:…` : key;
    report([...path, shown], `unknown key ${quoted(shown)}${didYouMean(name, known)}`, 'key');
  }
  if (keys.length > MOST_UNKNOWN_KEYS)
    report(path, `has ${keys.length - MOST_UNKNOWN_KEYS} more unknown keys`);
}

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

function knownKeys(schema: unknown, steps: readonly (string | number)[]): string[] {
  const inner = schema instanceof z.ZodType ? unwrap(schema) : undefined;
  const [step, ...rest] = steps;
  if (inner instanceof z.ZodObject) {
    return step === undefined ? Object.keys(inner.shape) : knownKeys(inner.shape[step], rest);
  }
  return inner instanceof z.ZodArray && step !== undefined ? knownKeys(inner.element, rest) : [];
}

/** The schema of what the file says, without its default and without what is made of it. */
export function unwrap(schema: z.ZodType): z.ZodType {
  let inner: unknown;
  if (schema instanceof z.ZodPipe) inner = schema.in;
  else if (
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodOptional
  )
    inner = schema.unwrap();
  return inner instanceof z.ZodType ? unwrap(inner) : schema;
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
