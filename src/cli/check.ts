// `postern check`: says everything that is wrong with a configuration, and changes nothing.
import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import { configOption, jsonOption, readConfig } from './configuration.ts';
import type { CliIo } from './io.ts';

type CheckOptions = { readonly config: string; readonly json?: boolean };

/** Adds the verb. What is wrong leaves it as ConfigError. */
export function registerCheck(program: Command, io: CliIo): void {
  program
    .command('check')
    .description('say everything that is wrong with the configuration')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async ({ config: file, json = false }: CheckOptions) => {
      const config = await readConfig(file, { writeKeys: false });
      io.stdout.write(
        json ? `${JSON.stringify({ ok: true, problems: [] }, undefined, 2)}\n` : summary(file, config),
      );
    });
}

function summary(file: string, { issuer, clients, resources, users }: Config): string {
  const parts = [
    counted(clients.length, 'client', 'clients'),
    counted(resources.length, 'resource', 'resources'),
    counted(users.length, 'person', 'people'),
  ];
  return `${file} is in order: ${issuer}, ${parts.join(', ')}\n`;
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}
