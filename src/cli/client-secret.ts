// `postern client secret`: makes a client secret and what to write into the configuration for it. The secret is shown
// here and kept nowhere.
import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { digestOf } from '../config/secret-strength.ts';
import { jsonOption } from './configuration.ts';
import type { CliIo } from './io.ts';

/** Adds the verb to the group `client`. */
export function registerClientSecret(client: Command, { stdout, stderr }: CliIo): void {
  client
    .command('secret')
    .description('make a client secret, and the line of YAML that accepts it')
    .addOption(jsonOption())
    .action(({ json = false }: { readonly json?: boolean }) => {
      // 43 characters, all of them unreserved: no form or Basic encoding changes them.
      const secret = randomBytes(32).toString('base64url');
      const hash = `sha256:${digestOf(secret).toString('hex')}`;
      const yaml = `client_secrets:\n  - hash: "${hash}"\n`;
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
