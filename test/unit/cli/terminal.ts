// A terminal for the command line: collects what is printed, and types. Owns no expectations.
import { PassThrough } from 'node:stream';
import { run } from '../../../src/cli/run.ts';

export type Ended = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** Runs `postern ARGS`, with `stdin` from a pipe. */
export async function postern(args: readonly string[], stdin = ''): Promise<Ended> {
  const input = new PassThrough();
  input.end(stdin);
  const printed = { stdout: '', stderr: '' };
  const code = await run(['node', 'postern', ...args], {
    stdin: input,
    stdout: { write: (text) => (printed.stdout += text) },
    stderr: { write: (text) => (printed.stderr += text) },
  });
  return { code, ...printed };
}

/** Runs `postern ARGS` for a person who answers each prompt with the next of `answers`. */
export async function posternTyped(args: readonly string[], answers: readonly string[]): Promise<Ended> {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const printed = { stdout: '', stderr: '' };
  const left = [...answers];
  const code = await run(['node', 'postern', ...args], {
    stdin,
    stdout: { write: (text) => (printed.stdout += text) },
    stderr: {
      write: (text) => {
        printed.stderr += text;
        const answer = text.endsWith(': ') ? left.shift() : undefined;
        if (answer !== undefined) setImmediate(() => stdin.write(answer));
      },
    },
  });
  return { code, ...printed };
}
