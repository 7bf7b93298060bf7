// `postern schema`: prints the JSON Schema of the configuration file, for editors.
import type { Command } from 'commander';
import { toJsonSchema } from '../config/schema.ts';
import { jsonOption } from './configuration.ts';
import { type CliIo, printJson } from './io.ts';

export function registerSchema(program: Command, io: CliIo): void {
  program
    .command('schema')
    .description('print the JSON Schema of the configuration file')
    .addOption(jsonOption())
    .action(() => printJson(io, toJsonSchema()));
}
