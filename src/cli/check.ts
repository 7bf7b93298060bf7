// `postern check`: prints every problem of a configuration, and changes nothing.
import type { Command } from 'commander';
import { ConfigError, type Config } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import { secretWarnings } from '../config/secret-expiry.ts';
import { tryStoredKeys } from '../server/sealed.ts';
import { addVerb, noSecretsOption, type SecretsOptions } from './configuration.ts';
import { counted, print, type CliIo } from './io.ts';
import { staleSchemas } from './schema.ts';

/** Adds the verb. It throws ConfigError for problems. */
export function registerCheck(program: Command, io: CliIo): void {
  addVerb(program, 'check', 'validate the configuration and the stored keys')
    .addOption(noSecretsOption())
    .action(async ({ config: file, json = false, secrets }: SecretsOptions) => {
      const config = await loadConfig(file, { writeKeys: false, readSecrets: secrets });
      // Placeholder secrets can't open anything.
      const { message, isRefused, unknown } = secrets ? await tryStoredKeys(config) : {};
      if (message && isRefused) throw new ConfigError([{ file, message }]);
      const warnings = [
        ...config.notices,
        ...secretWarnings(config.clients, Math.floor(Date.now() / 1000)),
        ...staleSchemas(file),
        ...(message === undefined ? [] : [message]),
        ...(unknown === undefined ? [] : [`the stored keys were not checked: ${unknown}`]),
      ];
      if (!json) for (const warning of warnings) io.stderr.write(`warning: ${warning}\n`);
      print(io, { json }, { value: { ok: true, problems: [], warnings }, text: summary(file, config) });
    });
}

function summary(file: string, { issuer, clients, resources, users }: Config): string {
  const parts = [
    counted(clients.length, 'client'),
    counted(resources.length, 'resource'),
    counted(users.length, 'user'),
  ];
  return `${file} is valid: ${issuer}, ${parts.join(', ')}`;
}
