// `postern client secret`: makes a client secret and what to write into the configuration for it. The secret is shown
// here and kept nowhere.
import { randomBytes } from 'node:crypto';
import { Option, type Command } from 'commander';
import { parseInstant } from '../config/instant.ts';
import { digestOf } from '../config/secret-strength.ts';
import { labelFault } from '../config/text.ts';
import { checked, jsonOption } from './configuration.ts';
import type { CliIo } from './io.ts';

type SecretOptions = {
  readonly name?: string;
  readonly expires?: string;
  readonly notBefore?: string;
  readonly json?: boolean;
};

/** Adds the verb to the group `client`. */
export function registerClientSecret(client: Command, { stdout, stderr }: CliIo): void {
  client
    .command('secret')
    .description('make a client secret, and the lines of YAML that accept it')
    .addOption(new Option('-n, --name <name>', 'what to call it').argParser(checked(labelFault)))
    .addOption(
      new Option('--not-before <date>', 'not accepted before this day or time').argParser(checked(dateFault)),
    )
    .addOption(
      new Option('--expires <date>', 'not accepted from this day or time on').argParser(checked(dateFault)),
    )
    .addOption(jsonOption())
    .action(({ json = false, ...options }: SecretOptions) => {
      // 43 characters, all of them unreserved: no form or Basic encoding changes them.
      const secret = randomBytes(32).toString('base64url');
      const hash = `sha256:${digestOf(secret).toString('hex')}`;
      const yaml = toYaml(hash, options);
      if (json) {
        stdout.write(`${JSON.stringify({ secret, hash, yaml }, undefined, 2)}\n`);
        return;
      }
      stderr.write('The secret, for the client. It is not shown again:\n');
      stdout.write(`${secret}\n`);
      stderr.write('\nFor the configuration, under the client:\n');
      stdout.write(yaml);
    });
}

function toYaml(hash: string, { name, notBefore, expires }: SecretOptions): string {
  const lines = [
    `hash: "${hash}"`,
    ...(name === undefined ? [] : [`name: ${JSON.stringify(name)}`]),
    ...(notBefore === undefined ? [] : [`not_before: ${notBefore}`]),
    ...(expires === undefined ? [] : [`expires_at: ${expires}`]),
  ];
  return `client_secrets:\n  - ${lines.join('\n    ')}\n`;
}

function dateFault(text: string): string | undefined {
  return parseInstant(text) === undefined
    ? 'must be a day such as 2027-01-01, or a time such as 2027-01-01T12:00:00Z'
    : undefined;
}
