// `postern init`: writes a starter configuration, with keys and a first person, and overwrites nothing. What
// the files contain is in starter-files.ts.
import { randomBytes } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Option, type Command } from 'commander';
import { hashPassword } from '../users/passwords.ts';
import { commandName } from '../config/command-name.ts';
import { usernameFault } from '../config/text.ts';
import { issuerFault } from '../config/uri.ts';
import { checked, jsonOption } from './configuration.ts';
import { CommandError, printJson, type CliIo } from './io.ts';
import { readPassword } from './password-input.ts';
import { newPersonId, usualPasswordContext } from './user-people.ts';
import { starterFiles, starterTryUrl, type StarterFile } from './starter-files.ts';

type InitOptions = {
  readonly issuer: string;
  readonly username: string;
  readonly askPassword?: boolean;
  readonly json?: boolean;
};

export function registerInit(program: Command, io: CliIo): void {
  program
    .command('init')
    .argument('[folder]', 'where to write', '.')
    .description('write a configuration to start from')
    .addOption(
      new Option('--issuer <url>', 'public address of the service')
        .default('http://localhost:3000')
        .argParser(checked(issuerFault)),
    )
    .addOption(
      new Option('-u, --username <name>', 'the first person')
        .default('alice')
        .argParser(checked(usernameFault)),
    )
    .option('--ask-password', 'take the password from the terminal or stdin instead of making one')
    .addOption(jsonOption())
    .action(async (folder: string, options: InitOptions) => {
      const password =
        options.askPassword === true
          ? await readPassword(io, usualPasswordContext(options.username))
          : undefined;
      const made = password ?? randomBytes(15).toString('base64url');
      const files = starterFiles({
        issuer: options.issuer,
        username: options.username,
        personId: newPersonId(),
        passwordHash: await hashPassword(made),
        newKey: () => randomBytes(32).toString('base64url'),
      });
      await writeAll(folder, files);
      report(io, { folder, files, options, password: password === undefined ? made : undefined });
    });
}

/** All of them or none; existing files are never touched. */
async function writeAll(folder: string, files: readonly StarterFile[]): Promise<void> {
  const paths = files.map(({ name }) => join(folder, name));
  const taken = paths.filter((path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined);
  if (taken.length > 0) throw new CommandError(`nothing was written: ${taken.join(', ')} exists already`);
  for (const { name, content, isSecret } of files) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true, ...(isSecret && { mode: 0o700 }) });
    await writeFile(path, content, { flag: 'wx', mode: isSecret ? 0o600 : 0o644 });
  }
}

type Written = {
  readonly folder: string;
  readonly files: readonly StarterFile[];
  readonly options: InitOptions;
  /** Only when it was made here. */
  readonly password: string | undefined;
};

function report(io: CliIo, { folder, files, options, password }: Written): void {
  const { stdout, stderr } = io;
  const names = files.map(({ name }) => join(folder, name));
  const { username, json = false } = options;
  if (json) return printJson(io, { files: names, username, password });
  for (const name of names) stderr.write(`wrote ${name}\n`);
  if (password !== undefined) {
    stderr.write(`\nThe password of ${username}. It is not shown again:\n`);
    stdout.write(`${password}\n`);
  }
  const config = join(folder, 'config', 'postern.yaml');
  const postern = commandName();
  stderr.write(`\nNext:\n  ${postern} check --config ${config}\n  ${postern} serve --config ${config}\n`);
  const tryUrl = starterTryUrl(options);
  if (tryUrl !== undefined) stderr.write(`\nThen open ${tryUrl} and sign in as ${username}.\n`);
}
