// `postern client list`: who the clients are, and which secrets they have.
import type { Command } from 'commander';
import type { Client, ClientSecret, StoreConfig } from '../config/config.ts';
import { formatInstant, secretState, type SecretState } from '../config/secret-expiry.ts';
import { secretId } from '../config/secret-id.ts';
import { readSecretUses } from '../oidc/secret-uses.ts';
import { isStoreMade, withStore } from '../store/open.ts';
import { configOption, jsonOption, noSecretsOption, readConfig, type VerbOptions } from './configuration.ts';
import { print, type CliIo } from './io.ts';

type ListOptions = VerbOptions & { readonly secrets: boolean };

/** Adds the verb to the group `client`. */
export function registerClientList(client: Command, io: CliIo): void {
  client
    .command('list')
    .description('the clients and their secrets')
    .addOption(configOption())
    .addOption(noSecretsOption())
    .addOption(jsonOption())
    .action(async ({ config: file, json, secrets }: ListOptions) => {
      const config = await readConfig(file, { writeKeys: false, readSecrets: secrets });
      const lastUses = await readLastUses(config.store);
      const now = Math.floor(Date.now() / 1000);
      const rows = config.clients.map((one) => toRow(one, lastUses, now));
      print(io, { json }, { value: rows, text: rows.map(toText).join('\n') });
    });
}

/** When a secret last authenticated its client, in epoch seconds; undefined when that isn't known. */
type LastUses = (clientId: string, secretId: string) => number | undefined;

async function readLastUses(location: StoreConfig): Promise<LastUses> {
  if (!(await isStoreMade(location))) return () => undefined;
  return withStore(location, ({ documents }) => readSecretUses(documents));
}

type SecretRow = {
  readonly id: string;
  readonly name?: string;
  readonly kind: ClientSecret['kind'];
  readonly state: SecretState;
  readonly not_before?: string;
  readonly expires_at?: string;
  readonly last_used?: string;
};

type ClientRow = {
  readonly client_id: string;
  readonly client_name?: string;
  readonly grant_types: readonly string[];
  readonly token_endpoint_auth_method: string;
  readonly scope: string;
  readonly secrets: readonly SecretRow[];
};

function toRow(client: Client, lastUses: LastUses, now: number): ClientRow {
  return {
    client_id: client.clientId,
    ...(client.clientName !== undefined && { client_name: client.clientName }),
    grant_types: client.grantTypes,
    token_endpoint_auth_method: client.tokenEndpointAuthMethod,
    scope: client.scopes.join(' '),
    secrets: client.secrets.map((secret) => {
      const id = secretId(secret);
      const lastUsed = lastUses(client.clientId, id);
      return {
        id,
        ...(secret.name !== undefined && { name: secret.name }),
        kind: secret.kind,
        state: secretState(secret, now),
        ...(secret.notBefore !== undefined && { not_before: formatInstant(secret.notBefore) }),
        ...(secret.expiresAt !== undefined && { expires_at: formatInstant(secret.expiresAt) }),
        ...(lastUsed !== undefined && { last_used: formatInstant(lastUsed) }),
      };
    }),
  };
}

function toText({ client_id, grant_types, token_endpoint_auth_method, secrets }: ClientRow): string {
  const grants = grant_types.length === 0 ? 'introspection only' : grant_types.join(' ');
  const lines = secrets.map(({ id, name, state, not_before, expires_at, last_used }) =>
    [
      `  secret ${name ?? id}`,
      state,
      `from ${not_before ?? '-'}`,
      `until ${expires_at ?? '-'}`,
      `last used ${last_used ?? '-'}`,
    ].join('  '),
  );
  return `${[`${client_id}  ${grants}  ${token_endpoint_auth_method}`, ...lines].join('\n')}\n`;
}
