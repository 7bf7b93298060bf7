// `postern client …`: clients and their secrets. A secret that is generated here is shown once and stored nowhere.
import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { loadConfig } from '../config/load.ts';
import type { Client } from '../config/config.ts';
import { formatInstant } from '../config/notation.ts';
import { secretState } from '../config/secret-expiry.ts';
import { digestOf, secretId } from '../config/secret-strength.ts';
import { readSecretUses, type LastUses } from '../oidc/secret-uses.ts';
import { isStoreMade, withStore } from '../store/open.ts';
import { addVerb, jsonOption, noSecretsOption, type SecretsOptions } from './configuration.ts';
import { printJson, type CliIo } from './io.ts';
import { addListOptions, type ListOptions, printList } from './table.ts';

export function registerClient(program: Command, io: CliIo): void {
  const client = program.command('client').description('manage clients and their secrets');
  client
    .command('secret')
    .description('generate a client secret and print it as YAML')
    .addOption(jsonOption())
    .action((options: { readonly json?: boolean }) => makeSecret(options, io));
  addListOptions(addVerb(client, 'list', 'list clients and their secrets'))
    .addOption(noSecretsOption())
    .action((options: ListSecretsOptions) => list(options, io));
}

function makeSecret({ json = false }: { readonly json?: boolean }, io: CliIo): void {
  // 43 characters, all unreserved, so that no form or Basic encoding changes them.
  const secret = randomBytes(32).toString('base64url');
  const hash = `sha256:${digestOf(secret).toString('hex')}`;
  const yaml = `client_secrets:\n  - hash: "${hash}"\n`;
  if (json) return printJson(io, { secret, hash, yaml });
  io.stderr.write('Client secret (not shown again):\n');
  io.stdout.write(`${secret}\n`);
  io.stderr.write('\nAdd this to the client in the configuration:\n');
  io.stdout.write(yaml);
}

type ListSecretsOptions = SecretsOptions & ListOptions;

async function list({ config: file, secrets, ...options }: ListSecretsOptions, io: CliIo): Promise<void> {
  const config = await loadConfig(file, { writeKeys: false, readSecrets: secrets });
  const lastUses = isStoreMade(config.store)
    ? await withStore(config.store, ({ documents }) => readSecretUses(documents))
    : () => undefined;
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
    wide: ['not_before', 'client_name', 'grant_types', 'token_endpoint_auth_method', 'scope'],
  });
}

function toRow(client: Client, lastUses: LastUses, now: number) {
  return {
    client_id: client.clientId,
    client_name: client.clientName,
    grant_types: client.grantTypes,
    token_endpoint_auth_method: client.tokenEndpointAuthMethod,
    scope: client.scopes.join(' '),
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
