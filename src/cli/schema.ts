// `postern schema`: prints the JSON Schema of the configuration file, for editors, or the same as a page for people.
import type { Command } from 'commander';
import { toJsonSchema, toMarkdown } from '../config/schema-documents.ts';
import { jsonOption } from './configuration.ts';
import { type CliIo, printJson } from './io.ts';

/** Adds the verb. It prints JSON unless --markdown is given. */
export function registerSchema(program: Command, io: CliIo): void {
  program
    .command('schema')
    .description('print the JSON Schema of the configuration file')
    .option('--markdown', 'print docs/configuration.md instead')
    .addOption(jsonOption())
    .action(({ markdown = false }: { readonly markdown?: boolean }) => {
      if (markdown) io.stdout.write(toMarkdown());
      else printJson(io, toJsonSchema());
    });
}
