// `postern schema`: prints the JSON Schema of the configuration file, for editors, or the same as a page for people.
import type { Command } from 'commander';
import { toJsonSchema } from '../config/json-schema.ts';
import { toMarkdown } from '../config/markdown.ts';
import { jsonOption } from './configuration.ts';
import type { CliIo } from './io.ts';

/** Adds the verb. It prints JSON unless --markdown is given. */
export function registerSchema(program: Command, { stdout }: CliIo): void {
  program
    .command('schema')
    .description('print the JSON Schema of the configuration file')
    .option('--markdown', 'print docs/configuration.md instead')
    .addOption(jsonOption())
    .action(({ markdown = false }: { readonly markdown?: boolean }) => {
      stdout.write(markdown ? toMarkdown() : `${JSON.stringify(toJsonSchema(), undefined, 2)}\n`);
    });
}
