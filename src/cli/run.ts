// Runs one command line and returns its exit code: 0 done, 1 refused, 2 misuse; a verb may have more,
// such as plan.
import { CommanderError } from 'commander';
import { ConfigError } from '../config/config.ts';
import { isMistake } from '../observability/log.ts';
import { printProblems } from './configuration.ts';
import { type CliIo, Ended } from './io.ts';
import { createProgram } from './program.ts';

const DONE = 0;
const REFUSED = 1;
const MISUSE = 2;

/** The exit code of `argv`, as the process got it. */
export async function run(argv: readonly string[], io: CliIo = process): Promise<number> {
  try {
    const program = await createProgram(io, argv[2]);
    await program.parseAsync(argv);
    return DONE;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? DONE : MISUSE;
    if (error instanceof Ended) return error.exitCode;
    if (error instanceof ConfigError) {
      printProblems(io, error, argv.includes('--json'));
      return REFUSED;
    }
    // An error of the machine or the store is one line for the operator; a bug keeps its stack.
    if (!(error instanceof Error) || isMistake(error)) throw error;
    io.stderr.write(`${error.message}\n`);
    return REFUSED;
  }
}
