// The terminal as verbs see it, so that tests can replace it, and how verbs print results.
import type { Readable } from 'node:stream';

/** Text that a program or a person reads. */
type Output = { write(text: string): unknown };

export type CliIo = {
  /** `isTTY`: a person is typing. */
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** What was asked for, and nothing else. */
  readonly stdout: Output;
  /** Messages about the work, and errors. */
  readonly stderr: Output;
};

type JsonOption = { readonly json?: boolean | undefined };

export function printJson({ stdout }: Pick<CliIo, 'stdout'>, value: unknown): void {
  stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
}

/** What a verb found: with `--json` the value, else the text. */
export function print(
  io: Pick<CliIo, 'stdout'>,
  { json }: JsonOption,
  { value, text }: { readonly value: unknown; readonly text: string },
): void {
  if (json === true) printJson(io, value);
  else io.stdout.write(text);
}

/** What a verb did, in one line for people or for programs. */
export function printDone(
  { stdout }: Pick<CliIo, 'stdout'>,
  { json }: JsonOption,
  { value, text }: { readonly value: unknown; readonly text: string },
): void {
  stdout.write(`${json === true ? JSON.stringify(value) : text}\n`);
}

/** `2 clients` */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** Exit codes that all verbs have; `plan` has more. */
export const EXIT = { done: 0, refused: 1, misuse: 2 };

/** A verb finished, with this exit code. */
export class Ended extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`ended with ${exitCode}`);
    this.name = 'Ended';
    this.exitCode = exitCode;
  }
}

/** A verb failed for a reason that its caller can change. Exit code: refused. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}
