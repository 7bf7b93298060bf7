// A process that runs the verbs which command-line.ts sends.
import { Readable } from 'node:stream';
import { runHere } from './run-here.ts';

type Verb = { readonly args: readonly string[]; readonly input: string };

async function answer({ args, input }: Verb): Promise<void> {
  const printed = { stdout: '', stderr: '' };
  const code = await runHere(['node', 'postern', ...args], {
    stdin: Readable.from([Buffer.from(input)]),
    stdout: { write: (text) => (printed.stdout += text) },
    stderr: { write: (text) => (printed.stderr += text) },
  });
  process.send?.({ code, ...printed });
}

process.on('message', (verb: Verb) => void answer(verb));
process.once('disconnect', () => process.exit());
