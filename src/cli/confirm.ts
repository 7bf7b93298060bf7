// Asks on a terminal before what can't be undone. A script has no terminal and isn't asked: what it runs was decided when it was written.
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
