// Shared by the verbs: options, reading the configuration, and printing its problems.
import { InvalidArgumentError, Option, type Command } from 'commander';
import { type Config, ConfigError } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import { formatProblem } from '../config/problems.ts';
import { counted, printJson, type CliIo } from './io.ts';

export const configOption = () =>
  new Option('-c, --config <file>', 'the configuration file')
    .env('POSTERN_CONFIG')
    .default('config/postern.yaml');

export const jsonOption = () => new Option('--json', 'print JSON');

/** `--no-secrets`: the option is called `secrets`, and is true by default. */
export const noSecretsOption = () =>
  new Option('--no-secrets', "don't resolve env: and file: references (for CI without secrets)");

export type VerbOptions = Readonly<{ config: string; json?: boolean }>;
export type SecretsOptions = VerbOptions & { readonly secrets: boolean };

/** `postern GROUP NAME`, with the options that nearly all verbs have. */
export const addVerb = (group: Command, name: string, description: string): Command =>
  group.command(name).description(description).addOption(configOption()).addOption(jsonOption());

export function checked(faultOf: (value: string) => string | undefined): (value: string) => string {
  return (value) => {
    const fault = faultOf(value);
    if (fault) throw new InvalidArgumentError(`It ${fault}.`);
    return value;
  };
}

/** For verbs that must work while the file is broken: faults of clients, APIs and users are warnings. */
export async function readService(file: string, io: CliIo): Promise<Config> {
  try {
    return await loadConfig(file);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const config = await loadConfig(file, { serviceOnly: true }).catch(() => Promise.reject(error));
    for (const problem of error.problems) io.stderr.write(`warning: ${formatProblem(problem)}\n`);
    return config;
  }
}

/** Prints each problem on its own line, or all of them as JSON. */
export function printProblems(io: CliIo, { problems }: ConfigError, json: boolean): void {
  if (json) return printJson(io, { ok: false, problems });
  for (const problem of problems) io.stderr.write(`${formatProblem(problem)}\n`);
  if (problems.length > 1) io.stderr.write(`\n${counted(problems.length, 'problem')}\n`);
}
