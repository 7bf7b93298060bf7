// Runs the command line within this process, which takes a tenth of the time of a separate process.
import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import { afterAll, beforeAll } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import { runHere } from './run-here.ts';

export type Ended = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** Runs a verb, in this process or in another one. */
export type RunVerb = (
  args: readonly string[],
  input?: string,
) => Promise<Omit<Ended, 'code'> & { readonly code: number | null }>;

/** Sets environment variables of this process while the tests of a file or block run. */
export function useEnvironment(values: () => Readonly<Record<string, string>>): void {
  let set: Readonly<Record<string, string>> = {};
  beforeAll(() => {
    set = values();
    Object.assign(process.env, set);
  });
  afterAll(() => {
    for (const name of Object.keys(set)) delete process.env[name];
  });
}

const namesOf = ({ commands }: Command, above = ''): string[] =>
  commands.flatMap((verb) =>
    verb.commands.length > 0 ? namesOf(verb, `${verb.name()} `) : [`${above}${verb.name()}`],
  );

/** The names of all verbs, such as `user add`. */
export const verbNames = async (): Promise<readonly string[]> => namesOf(await createProgram(process));

/** Runs `postern ARGS` with `stdin` from a pipe. */
export async function postern(args: readonly string[], stdin = ''): Promise<Ended> {
  const input = new PassThrough();
  input.end(stdin);
  const printed = { stdout: '', stderr: '' };
  const code = await runHere(['node', 'postern', ...args], {
    stdin: input,
    stdout: { write: (text) => (printed.stdout += text) },
    stderr: { write: (text) => (printed.stderr += text) },
  });
  return { code, ...printed };
}

/** Runs `postern user ARGS --json`; `result` is its parsed output, or `{}`. */
export async function userVerb(
  at: { readonly configFile: string },
  args: readonly string[],
  input = '',
  runs: RunVerb = postern,
) {
  const { code, stdout, stderr } = await runs(['user', ...args, '--config', at.configFile, '--json'], input);
  return { code, stderr, result: (stdout === '' ? {} : JSON.parse(stdout)) as Record<string, unknown> };
}

/** Runs `postern ARGS` in a terminal and answers each prompt with the next of `answers`. */
export async function posternTyped(args: readonly string[], answers: readonly string[]): Promise<Ended> {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const printed = { stdout: '', stderr: '' };
  const left = [...answers];
  const code = await runHere(['node', 'postern', ...args], {
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
