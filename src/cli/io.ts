// The terminal as verbs see it, so that tests can replace it, and the functions with which all verbs print results.
import type { Readable } from 'node:stream';
import { escaped } from '../config/text.ts';

/** An output for programs and users, with the properties of a terminal. `hasColors` respects NO_COLOR and TERM. */
type Output = {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly hasColors?: () => boolean;
};

export type CliIo = Readonly<{
  /** `isTTY`: a user is typing. */
  stdin: Readable & { readonly isTTY?: boolean };
  /** The requested result only. */
  stdout: Output;
  /** Messages about the work, and errors. */
  stderr: Output;
}>;

type JsonOption = { readonly json?: boolean | undefined };
/** `value` is for programs, `text` for users. */
export type Printed = Readonly<{ value: object; text?: string }>;

export function printJson({ stdout }: CliIo, value: unknown): void {
  stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
}

/** Prints a verb's result: with `--json` the value, else the text, or the value in lines. Lists: table.ts. */
export function print(io: CliIo, { json }: JsonOption, { value, text = renderValue(value) }: Printed): void {
  if (json === true) printJson(io, value);
  else if (text !== '') io.stdout.write(`${text}\n`);
}

/** Formats an object as lines of `name: value`. */
const renderValue = (value: object) =>
  Object.entries(value)
    .map(([name, one]) => `${name}: ${toCell(one)}`)
    .join('\n');

/** Formats a value in one line, for users. */
export function toCell(value: unknown): string {
  if (value === undefined || value === null || value === '') return '-';
  if (Array.isArray(value)) return value.map(toCell).join(', ') || 'none';
  if (typeof value === 'object')
    return Object.entries(value)
      .map(([name, one]) => `${name} ${toCell(one)}`)
      .join(', ');
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  // A name from outside must not move the cursor.
  return escaped(text) === text ? text : escaped(JSON.stringify(text));
}

/** `2 clients` */
export const counted = (count: number, one: string, many = `${one}s`) =>
  `${count} ${count === 1 ? one : many}`;

/** Exit codes that all verbs have; `plan` has more. */
export const EXIT = { done: 0, refused: 1, misuse: 2 };

export class Ended extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`ended with ${exitCode}`);
    this.name = 'Ended';
    this.exitCode = exitCode;
  }
}

/** A verb failed for a reason that its caller can fix. Exit code: refused. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}
