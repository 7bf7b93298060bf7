// Runs one command line and returns its exit code: 0 done, 1 refused, 2 misuse; a verb may have more,
// such as plan.
import { CommanderError } from 'commander';
import { ConfigError } from '../config/config.ts';
import { isMistake } from '../observability/log.ts';
import { printProblems } from './configuration.ts';
import { type CliIo, Ended, EXIT } from './io.ts';
import { createProgram } from './program.ts';

/** Runs `argv`, as the process got it. Resolves with the exit code. */
export async function run(argv: readonly string[], io: CliIo = process): Promise<number> {
  try {
    const program = await createProgram(io, argv[2]);
    await program.parseAsync(argv);
    return EXIT.done;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.misuse;
    if (error instanceof Ended) return error.exitCode;
    if (error instanceof ConfigError) {
      printProblems(io, error, argv.includes('--json'));
      return EXIT.refused;
    }
    // An error of the machine or the store is one line for the administrator; a bug keeps its stack.
    if (!(error instanceof Error) || isMistake(error)) throw error;
    io.stderr.write(`${error.message}\n`);
    return EXIT.refused;
  }
}
