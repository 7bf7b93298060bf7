// What a verb may touch of the terminal. Owns the interface, so that tests can be the terminal.
import type { Readable } from 'node:stream';

/** Text that a program or a person reads. */
export type Output = { write(text: string): unknown };

export type CliIo = {
  /** `isTTY`: a person is typing. */
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** What was asked for, and nothing else. */
  readonly stdout: Output;
  /** Everything that is said besides. */
  readonly stderr: Output;
};

/** A verb did its work, and its exit code says how it came out. */
export class Ended extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`ended with ${exitCode}`);
    this.name = 'Ended';
    this.exitCode = exitCode;
  }
}

/** A verb did not do what it was asked to, for a reason that its caller can change. Exit code 1. */
export class Refused extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'Refused';
  }
}
