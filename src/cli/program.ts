// The command line: its verbs, in the order in which help lists them. Each verb or group of verbs has its own file, and
// run.ts turns the end of a verb into an exit code.
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { commandName } from '../config/command-name.ts';
import { registerCheck } from './check.ts';
import { registerClient } from './client.ts';
import { registerDoctor } from './doctor.ts';
import { registerHealthcheck } from './healthcheck.ts';
import { registerInit } from './init.ts';
import type { CliIo } from './io.ts';
import { registerKeys } from './keys.ts';
import { registerPlan } from './plan.ts';
import { registerSchema } from './schema.ts';
import { registerServe } from './serve.ts';
import { registerStore } from './store.ts';
import { registerUser } from './user.ts';
import { registerViews } from './views.ts';

/** Adds one verb, or one group of verbs, to the program. */
type Register = (program: Command, io: CliIo) => void;

const VERBS: readonly Register[] = [
  registerServe,
  registerInit,
  registerCheck,
  registerPlan,
  registerSchema,
  registerClient,
  registerUser,
  registerKeys,
  registerViews,
  registerStore,
  registerDoctor,
  registerHealthcheck,
];

/** The whole command line. It throws CommanderError instead of ending the process. */
export function createProgram(io: CliIo): Command {
  // Before the verbs, which inherit these settings.
  const program = new Command(commandName())
    .description('A hosted OpenID Connect provider that is run from one file.')
    .version(readVersion(), '-V, --version')
    .exitOverride()
    .configureOutput({ writeOut: (text) => io.stdout.write(text), writeErr: (text) => io.stderr.write(text) })
    .showHelpAfterError('(--help lists what there is)');
  for (const register of VERBS) register(program, io);
  return program;
}

/** package.json lies beside src/ and beside dist/ alike. */
function readVersion(): string {
  const file = new URL('../../package.json', import.meta.url);
  const content: unknown = JSON.parse(readFileSync(file, 'utf8'));
  const version =
    typeof content === 'object' && content !== null && 'version' in content ? content.version : '';
  return String(version);
}
