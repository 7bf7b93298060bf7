// `postern client …`: clients and their secrets. A secret that is made here is shown once and kept nowhere.
import { randomBytes } from 'node:crypto';
import { Option, type Command } from 'commander';
import { isUrlClient } from '../config/client-id-url.ts';
import { loadConfig } from '../config/load.ts';
import type { Client, StoreConfig } from '../config/config.ts';
import { formatInstant, instantFault } from '../config/notation.ts';
import { secretState } from '../config/secret-expiry.ts';
import { digestOf, secretId } from '../config/secret-strength.ts';
import { labelFault } from '../config/text.ts';
import { readSecretUses, type LastUses } from '../oidc/secret-uses.ts';
import { isStoreMade, withStore } from '../store/open.ts';
import { addVerb, checked, jsonOption, noSecretsOption, type SecretsOptions } from './configuration.ts';
import { printJson, type CliIo } from './io.ts';
import { addListOptions, type ListOptions, printList } from './table.ts';

type SecretOptions = Readonly<{
  name?: string;
  expires?: string;
  json?: boolean;
}>;

export function registerClient(program: Command, io: CliIo): void {
  const client = program.command('client').description('manage clients and their secrets');
  client
    .command('secret')
    .description('generate a client secret and print it as YAML')
    .addOption(new Option('-n, --name <name>', 'a name for the secret').argParser(checked(labelFault)))
    .addOption(
      new Option('--expires <date>', 'date or time when the secret expires').argParser(checked(instantFault)),
    )
    .addOption(jsonOption())
    .action((options: SecretOptions) => makeSecret(options, io));
  addListOptions(addVerb(client, 'list', 'list clients and their secrets'))
    .addOption(noSecretsOption())
    .action((options: ListSecretsOptions) => list(options, io));
}

function makeSecret({ json = false, ...options }: SecretOptions, io: CliIo): void {
  // 43 characters, all of them unreserved: no form or Basic encoding changes them.
  const secret = randomBytes(32).toString('base64url');
  const hash = `sha256:${digestOf(secret).toString('hex')}`;
  const yaml = toYaml(hash, options);
  if (json) return printJson(io, { secret, hash, yaml });
  io.stderr.write('Client secret (not shown again):\n');
  io.stdout.write(`${secret}\n`);
  io.stderr.write('\nAdd this to the client in the configuration:\n');
  io.stdout.write(yaml);
}

function toYaml(hash: string, { name, expires }: SecretOptions): string {
  const lines = [
    `hash: "${hash}"`,
    ...(name === undefined ? [] : [`name: ${JSON.stringify(name)}`]),
    ...(expires === undefined ? [] : [`expires_at: ${expires}`]),
  ];
  return `client_secrets:\n  - ${lines.join('\n    ')}\n`;
}

type ListSecretsOptions = SecretsOptions & ListOptions;

async function list({ config: file, secrets, ...options }: ListSecretsOptions, io: CliIo): Promise<void> {
  const config = await loadConfig(file, { writeKeys: false, readSecrets: secrets });
  const lastUses = await readStored(config.store);
  const now = Math.floor(Date.now() / 1000);
  const rows = config.clients.map((one) => toRow(one, lastUses, now));
  // A line for each secret.
  const lines = rows.flatMap(({ secrets: own, ...client }) =>
    (own.length === 0 ? [undefined] : own).map((secret) => ({ ...client, ...secret })),
  );
  await printList(io, options, {
    json: rows,
    rows: lines,
    none: 'The configuration has no clients.',
    columns: [
      'client_id',
      { key: 'id', heading: 'SECRET' },
      'name',
      { key: 'state', colours: { live: 'green', expiring: 'yellow', expired: 'red' } },
      { key: 'expires_at', heading: 'EXPIRES', isTime: true },
      { key: 'last_used', isTime: true },
    ],
    wide: ['not_before', 'client_name', 'grant_types', 'token_endpoint_auth_method', 'scope', 'document'],
  });
}

async function readStored(location: StoreConfig): Promise<LastUses> {
  if (!isStoreMade(location)) return () => undefined;
  return withStore(location, ({ documents }) => readSecretUses(documents));
}

function toRow(client: Client, lastUses: LastUses, now: number) {
  return {
    client_id: client.clientId,
    client_name: client.clientName,
    grant_types: client.grantTypes,
    token_endpoint_auth_method: client.tokenEndpointAuthMethod,
    scope: client.scopes.join(' '),
    document: isUrlClient(client.clientId) ? ('pinned' as const) : undefined,
    secrets: client.secrets.map((secret) => {
      const id = secretId(secret);
      return {
        id,
        name: secret.name,
        state: secretState(secret, now),
        not_before: instantOf(secret.notBefore),
        expires_at: instantOf(secret.expiresAt),
        last_used: instantOf(lastUses(client.clientId, id)),
      };
    }),
  };
}

const instantOf = (seconds: number | undefined) =>
  seconds === undefined ? undefined : formatInstant(seconds);
