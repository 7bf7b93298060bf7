// `postern schema`: prints the JSON Schema of a file, for editors, and finds outdated ones beside a configuration.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Argument, type Command } from 'commander';
import { parseJsonObject } from '../config/parse-fields.ts';
import { SCHEMA_NAMES, type SchemaName, toJsonSchema } from '../config/schema.ts';
import { jsonOption } from './configuration.ts';
import { type CliIo, printJson } from './io.ts';

export function registerSchema(program: Command, io: CliIo): void {
  program
    .command('schema')
    .description('print the JSON Schema of the configuration file')
    .addArgument(new Argument('[file]', 'which file').choices(SCHEMA_NAMES).default('postern'))
    .addOption(jsonOption())
    .action((name: SchemaName) => printJson(io, toJsonSchema(name)));
}

/** Returns a line for each schema beside the configuration that is from another version. */
export function staleSchemas(configFile: string): string[] {
  return SCHEMA_NAMES.flatMap((name) => {
    const file = join(dirname(configFile), `${name}.schema.json`);
    if (!existsSync(file)) return [];
    const isCurrent = isDeepStrictEqual(parseJsonObject(readFileSync(file, 'utf8')), toJsonSchema(name));
    return isCurrent ? [] : [`${file} is from another version: run postern schema ${name} > ${file}`];
  });
}
