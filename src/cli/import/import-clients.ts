// Converts clients of other providers: values that can be imported, and a note for each that can't. The other files here read one
// provider's file each.
import { stringify } from 'yaml';
import { importAuthelia } from './authelia.ts';
import { importDex } from './dex.ts';
import { importKeycloak } from './keycloak.ts';
import { ConfigError, SPECIFICATION_SCOPES } from '../../config/config.ts';
import { readDocument } from '../../config/document.ts';
import type { ClientDraft, Importer } from './client-draft.ts';
import { digestOf, phcFault, weakness } from '../../config/secret-strength.ts';
import { ProblemList } from '../../config/problems.ts';
import { redirectUriFault, originFault } from '../../config/uri.ts';

const IMPORTERS = {
  dex: importDex,
  authelia: importAuthelia,
  keycloak: importKeycloak,
} as const satisfies Record<string, Importer>;

export type ImportFormat = keyof typeof IMPORTERS;
export const IMPORT_FORMATS = Object.keys(IMPORTERS) as ImportFormat[];

type Imported = {
  /** A file for `clients_from`. */
  readonly yaml: string;
  readonly count: number;
  /** What was not carried over, and why; never a secret. */
  readonly notes: readonly string[];
};

/** The clients in `file`. Throws ConfigError when it can't be read. */
export async function importClients(file: string, format: ImportFormat): Promise<Imported> {
  const problems = new ProblemList();
  const document = await readDocument(file, problems);
  if (document === undefined) throw new ConfigError(problems.list());
  const drafts = IMPORTERS[format](document.content);
  if (drafts === undefined) {
    const message = `holds no clients of ${format}`;
    throw new ConfigError([{ file, message }]);
  }
  const notes: string[] = [];
  const clients = drafts.map((draft) => {
    const note = (words: string): unknown => notes.push(`${draft.clientId}: ${words}`);
    for (const words of draft.notes) note(words);
    return toForm(draft, note);
  });
  return { yaml: stringify(clients, { lineWidth: 0 }), count: clients.length, notes };
}

type Note = (words: string) => unknown;

/** A client as the file has it; in the order in which people read one. */
function toForm(draft: ClientDraft, note: Note): Record<string, unknown> {
  const isMachine = draft.grantTypes.includes('client_credentials');
  const grants = isMachine && draft.grantTypes.length > 1 ? withoutMachine(draft, note) : draft.grantTypes;
  const isMachineOnly = grants.includes('client_credentials');
  const scopes = toScopes(draft, isMachineOnly, grants, note);
  const uris = {
    redirect_uris: accepted(draft.redirectUris, redirectUriFault, note),
    post_logout_redirect_uris: accepted(draft.postLogoutRedirectUris, redirectUriFault, note),
    allowed_cors_origins: accepted(draft.corsOrigins, originFault, note),
  };
  return {
    client_id: draft.clientId,
    ...(draft.clientName !== undefined && { client_name: draft.clientName }),
    ...toSecrets(draft, note),
    ...(isMachineOnly
      ? {}
      : Object.fromEntries(Object.entries(uris).filter(([, values]) => values.length > 0))),
    grant_types: grants,
    ...(draft.authMethod !== 'client_secret_basic' && { token_endpoint_auth_method: draft.authMethod }),
    scope: scopes.join(' '),
    ...toConsent(draft, note),
    ...toAccess(draft, isMachineOnly, note),
  };
}

function toAccess(
  { accessGroups: groups }: ClientDraft,
  isMachine: boolean,
  note: Note,
): Record<string, unknown> {
  if (groups === undefined || isMachine) return {};
  note(`is for people in ${groups.join(', ')}: define them in groups`);
  return { access: { groups } };
}

/** RFC 8252 §8.6: without a secret, any app can claim to be this one. */
function toConsent({ consent, authMethod }: ClientDraft, note: Note): Record<string, unknown> {
  if (consent === 'explicit') return {};
  if (authMethod !== 'none') return { consent };
  note("is public, so people are asked here, which they aren't there: see consent");
  return { consent: 'explicit' };
}

function withoutMachine({ grantTypes }: ClientDraft, note: Note): string[] {
  note('has people and client_credentials: make a client of its own for the service');
  return grantTypes.filter((grant) => grant !== 'client_credentials');
}

function accepted(
  values: readonly string[],
  faultOf: (value: string) => string | undefined,
  note: Note,
): string[] {
  return values.filter((value) => {
    const fault = faultOf(value);
    if (fault !== undefined) note(`${value} ${fault}`);
    return fault === undefined;
  });
}

function toScopes(
  { scopes }: ClientDraft,
  isMachine: boolean,
  grants: readonly string[],
  note: Note,
): string[] {
  const personal: readonly string[] = SPECIFICATION_SCOPES;
  const wanted = new Set(
    scopes.filter((scope) => !isMachine || (!personal.includes(scope) && scope !== 'groups')),
  );
  if (!isMachine) wanted.add('openid');
  // Refresh tokens are issued for that scope only.
  if (grants.includes('refresh_token')) wanted.add('offline_access');
  else wanted.delete('offline_access');
  const own = [...wanted].filter((scope) => !personal.includes(scope) && scope !== 'groups');
  if (wanted.has('groups')) note('has the scope groups: define them in groups');
  if (own.length > 0) note(`scopes that an entry of resources must own: ${own.join(', ')}`);
  if (wanted.size === 0) note('has no scope: name at least one');
  return [...wanted];
}

function toSecrets({ secret, authMethod }: ClientDraft, note: Note): Record<string, unknown> {
  if (authMethod === 'none') return {};
  if (secret?.kind === 'env') return { client_secrets: [{ value: `env:${secret.name}` }] };
  if (secret?.kind === 'argon2id' && phcFault(secret.phc) === undefined) {
    return { client_secrets: [{ hash: secret.phc, name: 'imported' }] };
  }
  if (secret?.kind === 'plain') {
    const weak = weakness(secret.value);
    if (weak === undefined) {
      const hash = `sha256:${digestOf(secret.value).toString('hex')}`;
      return { client_secrets: [{ hash, name: 'imported' }] };
    }
    note(`its secret ${weak}: make one with "postern client secret"`);
    return {};
  }
  note('its secret can\'t be imported: make one with "postern client secret"');
  return {};
}
