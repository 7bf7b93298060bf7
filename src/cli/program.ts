// The command line: its verbs, in the order in which help lists them. Each verb or group of verbs has its own file, and
// run.ts turns the result of a verb into an exit code.
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { commandName } from '../config/command-name.ts';
import { COMMANDS, type Register } from '../features/commands.ts';
import type { CliIo } from './io.ts';

/** Each verb is imported on demand: loading all takes longer than most take to run, and a service would keep them in memory. */
const VERBS: Readonly<Record<string, () => Promise<Register>>> = {
  serve: async () => (await import('./serve.ts')).registerServe,
  check: async () => (await import('./check.ts')).registerCheck,
  schema: async () => (await import('./schema.ts')).registerSchema,
  client: async () => (await import('./client.ts')).registerClient,
  user: async () => (await import('./user.ts')).registerUser,
  keys: async () => (await import('./keys.ts')).registerKeys,
  healthcheck: async () => (await import('./healthcheck.ts')).registerHealthcheck,
  ...COMMANDS,
  completion: async () => (await import('./completion.ts')).registerCompletion,
  version: () => Promise.resolve(registerVersion),
};

/** Creates the command line with only `verb`, or with all for `completion` and unknown ones. Throws CommanderError instead of exiting. */
export async function createProgram(io: CliIo, verb = ''): Promise<Command> {
  // Before the verbs, which inherit these settings.
  const program = new Command(commandName())
    .description('A self-hosted OpenID Connect provider, configured in one file.')
    .version(readVersion(), '-V, --version')
    .exitOverride()
    .configureOutput({ writeOut: (text) => io.stdout.write(text), writeErr: (text) => io.stderr.write(text) })
    .showHelpAfterError('(see --help)');
  const isOne = Object.hasOwn(VERBS, verb) && verb !== 'completion';
  const verbs = isOne ? [VERBS[verb]] : Object.values(VERBS);
  for (const load of verbs) await (await load?.())?.(program, io);
  return program;
}

function registerVersion(program: Command, { stdout }: CliIo): void {
  program
    .command('version')
    .description('print the version')
    .action(() => {
      stdout.write(`${readVersion()}\n`);
    });
}

/** package.json is beside src/ and beside dist/ alike. */
function readVersion(): string {
  const file = new URL('../../package.json', import.meta.url);
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string };
  return version;
}
