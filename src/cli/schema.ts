// `postern schema`: prints the JSON Schema of the configuration file, for editors.
import type { Command } from 'commander';
import { toJsonSchema } from '../config/json-schema.ts';
import { jsonOption } from './configuration.ts';
import type { CliIo } from './io.ts';

/** Adds the verb. It prints JSON with and without --json. */
export function registerSchema(program: Command, { stdout }: CliIo): void {
  program
    .command('schema')
    .description('print the JSON Schema of the configuration file')
    .addOption(jsonOption())
    .action(() => {
      stdout.write(`${JSON.stringify(toJsonSchema(), undefined, 2)}\n`);
    });
}
