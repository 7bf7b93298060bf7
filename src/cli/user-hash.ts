// `postern user hash`: hashes a password and makes an entry for the users file. It writes to no file.
import type { Command } from 'commander';
import { hashPassword } from '../users/passwords.ts';
import { jsonOption, readConfig } from './configuration.ts';
import { print, type CliIo } from './io.ts';
import { readPassword } from './password-input.ts';
import { newPersonId, passwordContext, usualPasswordContext } from './user-people.ts';

type HashOptions = { readonly username: string; readonly config?: string; readonly json?: boolean };

/** Adds the verb to the group `user`. */
export function registerUserHash(user: Command, io: CliIo): void {
  user
    .command('hash')
    .description('hash a password (typed, or from stdin), and make the entry for the users file')
    .option('-u, --username <name>', 'who it is for', 'somebody')
    .option('-c, --config <file>', 'the configuration file whose rules for passwords hold')
    .addOption(jsonOption())
    .action(async ({ username, config: file, json = false }: HashOptions) => {
      const context =
        file === undefined
          ? usualPasswordContext(username)
          : passwordContext(await readConfig(file, { readSecrets: false, writeKeys: false }), username);
      const passwordHash = await hashPassword(await readPassword(io, context));
      const id = newPersonId();
      const yaml = `- id: ${id}\n  username: ${JSON.stringify(username)}\n  password_hash: ${passwordHash}\n`;
      if (!json) io.stderr.write('For the users file, under users:\n');
      print(io, { json }, { value: { id, username, password_hash: passwordHash, yaml }, text: yaml });
    });
}
