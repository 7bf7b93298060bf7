// Prompts and progress, which only a terminal gets: a confirmation before a change that can't be undone, and the progress of work that
// takes longer than a second. A script isn't asked: its author has decided.
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Option } from 'commander';
import { CommandError, type CliIo } from './io.ts';

export type YesOption = { readonly yes?: boolean };

export const yesOption = (): Option => new Option('-y, --yes', "don't ask for confirmation");

/** Throws CommandError unless the answer is yes. */
export async function confirm(
  { stdin, stderr }: CliIo,
  { yes = false }: YesOption,
  question: string,
): Promise<void> {
  if (yes || stdin.isTTY !== true) return;
  stderr.write(`${question} [y/N]: `);
  const terminal = createInterface({ input: stdin });
  const [answer = ''] = (await Promise.race([once(terminal, 'line'), once(terminal, 'close')])) as string[];
  terminal.close();
  if (!/^\s*y(es)?\s*$/i.test(answer)) throw new CommandError('Cancelled: nothing was changed');
}

/** Shows how long the work has taken so far. */
export async function withProgress<T>({ stderr }: CliIo, what: string, work: Promise<T>): Promise<T> {
  if (stderr.isTTY !== true) return work;
  let seconds = 0;
  const timer = setInterval(() => stderr.write(`\r${what}… ${++seconds} s`), 1000);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    if (seconds > 0) stderr.write('\r\u001b[K');
  }
}
