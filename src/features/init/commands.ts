// `postern init`: writes a starter configuration, with keys and a first user, and overwrites nothing.
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Option, type Command } from 'commander';
import { hashPassword } from '../../users/passwords.ts';
import { commandName } from '../../config/command-name.ts';
import { DEMO_CALLBACK_PATH, DEMO_CLIENT_ID, DEMO_CLIENT_SECRET, DEMO_PATH } from '../../config/demo.ts';
import { SCHEMA_NAMES, type SchemaName, toJsonSchema } from '../../config/schema.ts';
import { newKey } from '../../config/service-keys.ts';
import { usernameFault } from '../../config/text.ts';
import { issuerFault } from '../../config/uri.ts';
import { createFolder } from '../../observability/folder.ts';
import { list } from '../index.ts';
import { checked } from '../../cli/configuration.ts';
import { CommandError, type CliIo } from '../../cli/io.ts';
import { newUserId } from '../../cli/user-context.ts';

type InitOptions = Readonly<{ issuer: string; username: string }>;

export function registerInit(program: Command, io: CliIo): void {
  program
    .command('init')
    .argument('[folder]', 'target folder', '.')
    .description('create a starter configuration')
    .addOption(
      new Option('--issuer <url>', 'public URL of the service')
        .default('http://localhost:3000')
        .argParser(checked(issuerFault)),
    )
    .addOption(
      new Option('-u, --username <name>', 'username of the first user')
        .default('alice')
        .argParser(checked(usernameFault)),
    )
    .action(init(io));
}

const init =
  ({ stdout, stderr }: CliIo) =>
  async (folder: string, { issuer, username }: InitOptions): Promise<void> => {
    const password = randomBytes(15).toString('base64url');
    const { files, startUrl } = starterFiles(issuer, username, await hashPassword(password));
    await writeAll(folder, files);
    for (const name of Object.keys(files)) stderr.write(`Created ${join(folder, name)}\n`);
    stderr.write(`\nPassword of ${username} (not shown again):\n`);
    stdout.write(`${password}\n`);
    const [postern, config] = [commandName(), join(folder, 'config', 'postern.yaml')];
    stderr.write(`\nNext:\n  ${postern} check --config ${config}\n  ${postern} serve --config ${config}\n`);
    const then = startUrl
      ? `Then open ${startUrl} and sign in as ${username}.`
      : 'There is no demo app: it works only where the issuer is http on this machine.';
    stderr.write(`\n${then}\n`);
  };

/** Writes all files or none, and never changes existing files. Only their owner may read keys and data. */
async function writeAll(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  const taken = Object.keys(files).filter((name) => existsSync(join(folder, name)));
  if (taken.length > 0) throw new CommandError(`nothing was written: ${taken.join(', ')} already exists`);
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    const isSecret = /secrets|data/.test(name);
    createFolder(dirname(path), isSecret ? 0o700 : 0o777);
    await writeFile(path, content, { flag: 'wx', mode: isSecret ? 0o600 : 0o644 });
  }
}

const schemaText = (name: SchemaName) => `${JSON.stringify(toJsonSchema(name), undefined, 2)}\n`;
const modeline = (path: string) => `# yaml-language-server: $schema=${path}.schema.json\n`;
const IGNORE_ALL = '# Data and keys: do not commit.\n*\n';

/** Files by name. `startUrl`: only for an http issuer, which must be on this machine, where the service can be tried. */
function starterFiles(issuer: string, username: string, passwordHash: string) {
  const { port, protocol } = new URL(issuer);
  const isHere = protocol === 'http:';
  const listen = isHere ? port || '80' : '3000';
  // The next port, so that two services on this machine have one each.
  const management = isHere && Number(port) % 65_535 > 0 ? Number(port) + 1 : 3001;
  const origin = `http://localhost:${management}`;
  const files = {
    'config/postern.yaml': `${modeline('./postern')}#
# All other keys have defaults: docs/configuration.md.
# Check a change with:  postern check --config config/postern.yaml

# Public URL of the service.
issuer: ${issuer}
listen: { host: 127.0.0.1, port: ${listen} }

# /healthz, /readyz and /metrics. Keep it off the internet.
management: { host: 127.0.0.1, port: ${management} }
store: lmdb:../data

# These keys encrypt stored data and sign cookies. Keep a copy in a safe place, never in git.
encryption_keys: [file:secrets/encryption.key]
cookie_keys: [file:secrets/cookie.key]
clients_from: [clients.d/*.yaml]
users_from: users.yaml
`,
    'config/clients.d/example.yaml': `${modeline('../clients')}# "postern client secret" prints a secret and the lines to add here.
# - client_id: my-app
#   client_secrets: [{ hash: "sha256:…" }]
#   redirect_uris: [https://app.example.com/callback]
#   scope: openid email profile
`,
    ...(isHere && {
      'config/clients.d/demo.yaml': `${modeline('../clients')}# The client of ${origin}${DEMO_PATH}, where you can try a sign-in. Its secret is public: delete this file when the
# issuer is no longer localhost. The port is the management port.
- client_id: ${DEMO_CLIENT_ID}
  client_name: Demo app
  client_secret: ${DEMO_CLIENT_SECRET}
  redirect_uris: [${origin}${DEMO_CALLBACK_PATH}]
  grant_types: [authorization_code, refresh_token]
  scope: openid email profile offline_access
`,
    }),
    'config/users.yaml': `${modeline('./users')}# "postern user hash" prints an entry.
users:
  # The id is the sub in the tokens of this user. Never change it or give it to another user.
  - id: ${newUserId()}
    username: ${JSON.stringify(username)}
    password_hash: ${passwordHash}
    preferred_username: ${JSON.stringify(username)}
`,
    ...Object.fromEntries(SCHEMA_NAMES.map((name) => [`config/${name}.schema.json`, schemaText(name)])),
    'config/secrets/encryption.key': `${newKey()}\n`,
    'config/secrets/cookie.key': `${newKey()}\n`,
    'config/secrets/.gitignore': IGNORE_ALL,
    'data/.gitignore': IGNORE_ALL,
  };
  return { files, startUrl: isHere && list('begin').length > 0 ? `${origin}${DEMO_PATH}` : undefined };
}
