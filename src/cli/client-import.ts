// `postern client import`: the clients of another provider's file as YAML. What can't be carried over is a note; what Postern refuses,
// such as a wildcard in a redirect URI, stays as it is, and `postern check` names its place.
import { stringify } from 'yaml';
import { ConfigError, SPECIFICATION_SCOPES } from '../config/config.ts';
import { readDocument } from '../config/document.ts';
import { isRecord } from '../config/parse-fields.ts';
import { ProblemList } from '../config/problems.ts';
import { digestOf, phcFault, weakness } from '../config/secret-strength.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A client as another provider's file has it. */
type Draft = {
  readonly id: string | undefined;
  readonly name: string | undefined;
  /** In plain text, as argon2id, or `env:NAME`. */
  readonly secret: string | undefined;
  readonly method: string;
  readonly redirectUris: readonly string[];
  readonly logoutUris?: readonly string[];
  readonly origins?: readonly string[];
  readonly grants: readonly string[];
  readonly scopes: readonly string[];
  /** People aren't asked. */
  readonly isTrusted?: boolean;
  /** A rule of the other provider says who may use it. */
  readonly group?: string | undefined;
  /** What has no place here. */
  readonly left: readonly string[];
};

const METHODS = ['client_secret_basic', 'client_secret_post', 'none'];
const GRANTS = ['authorization_code', 'refresh_token', 'client_credentials'];

function textOf(fields: Fields, key: string): string | undefined {
  const value = fields[key];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function listOf(fields: Fields, key: string): string[] {
  const value = fields[key];
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

const without = (fields: Fields, known: string) =>
  Object.keys(fields).filter((key) => !known.split(' ').includes(key));

/** Dex gives every client the same grants and scopes. */
function fromDex(fields: Fields): Draft {
  const env = textOf(fields, 'secretEnv');
  return {
    id: textOf(fields, 'id'),
    name: textOf(fields, 'name'),
    secret: env === undefined ? textOf(fields, 'secret') : `env:${env}`,
    method: fields['public'] === true ? 'none' : 'client_secret_basic',
    redirectUris: listOf(fields, 'redirectURIs'),
    grants: ['authorization_code', 'refresh_token'],
    scopes: ['email', 'profile'],
    left: without(fields, 'id name secret secretEnv redirectURIs public logoURL'),
  };
}

function fromAuthelia(fields: Fields): Draft {
  const scopes = listOf(fields, 'scopes');
  const grants = listOf(fields, 'grant_types');
  const usual = ['authorization_code', ...(scopes.includes('offline_access') ? ['refresh_token'] : [])];
  const method = textOf(fields, 'token_endpoint_auth_method') ?? 'client_secret_basic';
  const policy = textOf(fields, 'authorization_policy') ?? 'one_factor';
  const known =
    'client_id client_name client_secret public redirect_uris grant_types scopes token_endpoint_auth_method consent_mode ' +
    'response_types response_modes require_pkce pkce_challenge_method';
  return {
    id: textOf(fields, 'client_id'),
    name: textOf(fields, 'client_name'),
    secret: textOf(fields, 'client_secret')?.replace(/^\$plaintext\$/, ''),
    method: fields['public'] === true ? 'none' : method,
    redirectUris: listOf(fields, 'redirect_uris'),
    grants: grants.length === 0 ? usual : grants,
    scopes: scopes.length === 0 ? ['profile', 'email'] : scopes,
    isTrusted: textOf(fields, 'consent_mode') === 'implicit',
    // Without a definition of that group the file is refused, so a rule isn't lost unseen.
    group: /^(one|two)_factor$/.test(policy) ? undefined : policy,
    left: without(fields, policy === 'two_factor' ? known : `${known} authorization_policy`),
  };
}

/** Keycloak creates some for itself. What is disabled there is left out. */
function isOwnOfKeycloak(fields: Fields): boolean {
  return (
    /^(account|account-console|admin-cli|broker|realm-management|security-admin-console)$/.test(
      textOf(fields, 'clientId') ?? '',
    ) ||
    fields['enabled'] === false ||
    (textOf(fields, 'protocol') ?? 'openid-connect') !== 'openid-connect'
  );
}

function fromKeycloak(fields: Fields): Draft {
  const isPublic = fields['publicClient'] === true;
  const usesCode = fields['standardFlowEnabled'] !== false && fields['bearerOnly'] !== true;
  const isService = fields['serviceAccountsEnabled'] === true && !isPublic;
  // Its own scopes have no meaning here.
  const own = /^(roles|web-origins|acr|basic|microprofile-jwt|service_account|organization)$/;
  const flags = ['implicitFlowEnabled', 'directAccessGrantsEnabled', 'authorizationServicesEnabled'];
  const scopes = [...listOf(fields, 'defaultClientScopes'), ...listOf(fields, 'optionalClientScopes')];
  return {
    id: textOf(fields, 'clientId'),
    name: textOf(fields, 'name'),
    // An export without secrets has asterisks in their place.
    secret: textOf(fields, 'secret')?.replace(/^\*+$/, '$'),
    method: isPublic ? 'none' : 'client_secret_basic',
    ...(usesCode ? urisOfKeycloak(fields) : { redirectUris: [] }),
    grants: [
      ...(usesCode ? ['authorization_code', 'refresh_token'] : []),
      ...(isService ? ['client_credentials'] : []),
    ],
    scopes: scopes.filter((scope) => !own.test(scope)),
    isTrusted: fields['consentRequired'] !== true,
    left: [...flags, 'protocolMappers'].filter((key) => fields[key] === true || Array.isArray(fields[key])),
  };
}

/** Where + stands for the redirect URIs, and a path for one below `rootUrl`. */
function urisOfKeycloak(fields: Fields) {
  const root = textOf(fields, 'rootUrl')?.replace(/\/$/, '') ?? '';
  const absolute = (uri: string) => (uri.startsWith('/') ? `${root}${uri}` : uri);
  const redirectUris = listOf(fields, 'redirectUris').map(absolute);
  const attributes = isRecord(fields['attributes']) ? fields['attributes'] : {};
  const logoutUris = textOf(attributes, 'post.logout.redirect.uris')?.split('##') ?? [];
  return {
    redirectUris,
    logoutUris: logoutUris.filter(Boolean).flatMap((uri) => (uri === '+' ? redirectUris : absolute(uri))),
    origins: listOf(fields, 'webOrigins').filter((origin) => origin !== '+'),
  };
}

const PROVIDERS = {
  dex: { path: ['staticClients'], toDraft: fromDex },
  authelia: { path: ['identity_providers', 'oidc', 'clients'], toDraft: fromAuthelia },
  keycloak: { path: ['clients'], toDraft: fromKeycloak },
};

export type ImportFormat = keyof typeof PROVIDERS;
export const IMPORT_FORMATS = Object.keys(PROVIDERS) as ImportFormat[];

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
  const { path, toDraft } = PROVIDERS[format];
  const found = path.reduce<unknown>(
    (node, key) => (isRecord(node) ? node[key] : undefined),
    document.content,
  );
  if (!Array.isArray(found)) throw new ConfigError([{ file, message: `holds no clients of ${format}` }]);
  const notes: string[] = [];
  const clients = found
    .filter(isRecord)
    .filter((fields) => format !== 'keycloak' || !isOwnOfKeycloak(fields))
    .map((fields) => {
      const draft = toDraft(fields);
      return toForm(draft, (words) => notes.push(`${draft.id ?? 'NAME_ME'}: ${words}`));
    });
  return { yaml: stringify(clients, { lineWidth: 0 }), count: clients.length, notes };
}

type Note = (words: string) => unknown;

const isEmpty = (value: unknown) => value === undefined || (Array.isArray(value) && value.length === 0);

/** A client as the file has it; in the order in which people read one. */
function toForm(draft: Draft, note: Note): Fields {
  const usesCode = draft.grants.includes('authorization_code');
  const grants = draft.grants.filter(
    (grant) => GRANTS.includes(grant) && !(usesCode && grant === 'client_credentials'),
  );
  const method = METHODS.includes(draft.method) ? draft.method : 'client_secret_basic';
  // RFC 8252 §8.6: without a secret, any app can claim to be this one.
  const consent = draft.isTrusted === true && method !== 'none' ? 'implicit' : 'explicit';
  noteLeft(draft, { grants, method, consent, note });
  const fields = {
    client_id: draft.id ?? 'NAME_ME',
    client_name: draft.name,
    client_secrets: method === 'none' ? [] : toSecrets(draft.secret, note),
    redirect_uris: draft.redirectUris,
    post_logout_redirect_uris: draft.logoutUris,
    grant_types: grants,
    token_endpoint_auth_method: method,
    scope: toScopes(draft, grants).join(' '),
    ...(usesCode && { consent, access: draft.group && { groups: [draft.group] } }),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isEmpty(value)));
}

type Form = {
  readonly grants: readonly string[];
  readonly method: string;
  readonly consent: string;
  readonly note: Note;
};

function noteLeft(draft: Draft, { grants, method, consent, note }: Form): void {
  const gone = draft.grants.filter((grant) => !grants.includes(grant));
  const left = [...draft.left, ...gone, ...(method === draft.method ? [] : [draft.method])];
  if (left.length > 0) note(`not carried over: ${left.join(', ')}`);
  if (!isEmpty(draft.origins)) note(`add to cors.allowed_origins: ${draft.origins?.join(', ')}`);
  if (draft.group !== undefined) note(`is for the group ${draft.group} alone: define it in groups`);
  if (draft.isTrusted === true && consent === 'explicit')
    note("is public, so people are asked here, which they aren't there");
}

/** Refresh tokens are issued for offline_access only. A service has no scope that is about people. */
function toScopes({ scopes }: Draft, grants: readonly string[]): readonly string[] {
  const personal: readonly string[] = [...SPECIFICATION_SCOPES, 'groups'];
  if (!grants.includes('authorization_code')) return scopes.filter((scope) => !personal.includes(scope));
  const others = scopes.filter((scope) => scope !== 'openid' && scope !== 'offline_access');
  return ['openid', ...new Set(others), ...(grants.includes('refresh_token') ? ['offline_access'] : [])];
}

function toSecrets(secret: string | undefined, note: Note): readonly object[] {
  if (secret?.startsWith('env:')) return [{ value: secret }];
  if (secret !== undefined && phcFault(secret) === undefined) return [{ hash: secret, name: 'imported' }];
  // PBKDF2 and others can't be compared here.
  const fault = secret === undefined || secret.startsWith('$') ? "can't be imported" : weakness(secret);
  if (fault === undefined)
    return [{ hash: `sha256:${digestOf(secret ?? '').toString('hex')}`, name: 'imported' }];
  note(`its secret ${fault}: make one with "postern client secret"`);
  return [];
}
