// `postern client import`: the clients of another provider's file as YAML. What can't be carried over is a note; what Postern refuses,
// such as a wildcard in a redirect URI, stays as it is, and `postern check` names its place.
import { stringify } from 'yaml';
import { ConfigError, SPECIFICATION_SCOPES } from '../../config/config.ts';
import { readDocument } from '../../config/document.ts';
import { isRecord } from '../../config/parse-fields.ts';
import { ProblemList } from '../../config/problems.ts';
import { escaped } from '../../config/text.ts';
import { digestOf, phcFault, weakness } from '../../config/secret-strength.ts';
import { type Fields, textOf, textsOf as listOf } from './fields.ts';

/** A client as another provider's file has it. */
type Draft = Readonly<{
  /** As in our file. What is missing or refused stays so. */
  client: Fields;
  isPublic: boolean;
  grants: readonly string[];
  scopes: readonly string[];
  /** In plain text, as argon2id, or `env:NAME`. */
  secret: unknown;
  /** Users aren't asked. */
  isTrusted: boolean;
  /** They weren't, by the other provider's default, which says nothing of whose app it is. */
  isUnasked?: boolean;
  /** What has no place here. */
  left: readonly string[];
}>;

const USUAL = ['authorization_code', 'refresh_token'];

const without = (fields: Fields, known: string) =>
  Object.keys(fields).filter((key) => !known.split(' ').includes(key));

/** Dex gives every client the same grants and scopes. */
function fromDex(fields: Fields): Draft {
  const { id, name, secret, secretEnv: env, redirectURIs } = fields;
  return {
    client: { client_id: id, client_name: name, redirect_uris: redirectURIs },
    isPublic: fields['public'] === true,
    grants: USUAL,
    scopes: ['email', 'profile'],
    secret: typeof env === 'string' ? `env:${env}` : secret,
    isTrusted: false,
    left: without(fields, 'id name secret secretEnv redirectURIs public logoURL'),
  };
}

function fromAuthelia(fields: Fields): Draft {
  const { client_secret: secret, authorization_policy: policy = 'one_factor' } = fields;
  const same = ['client_id', 'client_name', 'redirect_uris', 'token_endpoint_auth_method'];
  const known = `${same.join(' ')} client_secret public grant_types scopes consent_mode response_types response_modes require_pkce pkce_challenge_method`;
  const scopes = listOf(fields['scopes'] ?? ['profile', 'email']);
  return {
    client: {
      ...Object.fromEntries(same.map((key) => [key, fields[key]])),
      // Without a definition of that group the file is refused, so a rule isn't lost unseen.
      access: policy === 'one_factor' || policy === 'two_factor' ? undefined : { groups: [policy] },
    },
    isPublic: fields['public'] === true,
    grants: listOf(fields['grant_types'] ?? (scopes.includes('offline_access') ? USUAL : USUAL.slice(0, 1))),
    scopes,
    secret: textOf(secret).replace(/^\$plaintext\$/, ''),
    isTrusted: fields['consent_mode'] === 'implicit',
    left: without(fields, policy === 'two_factor' ? known : `${known} authorization_policy`),
  };
}

/** Keycloak creates some for itself. What is disabled there is left out. */
const OWN_OF_KEYCLOAK =
  /^(account|account-console|admin-cli|broker|realm-management|security-admin-console)$/;

function fromKeycloak(fields: Fields): Draft | undefined {
  const { clientId, name, protocol = 'openid-connect', publicClient: isPublic } = fields;
  const isOurs = fields['enabled'] !== false && protocol === 'openid-connect';
  if (!isOurs || OWN_OF_KEYCLOAK.test(textOf(clientId))) return undefined;
  const usesCode = fields['standardFlowEnabled'] !== false && fields['bearerOnly'] !== true;
  const isService = fields['serviceAccountsEnabled'] === true && isPublic !== true;
  // Its own scopes have no meaning here.
  const own = /^(roles|web-origins|acr|basic|microprofile-jwt|service_account|organization)$/;
  const scopes = [...listOf(fields['defaultClientScopes']), ...listOf(fields['optionalClientScopes'])];
  const others =
    'implicitFlowEnabled directAccessGrantsEnabled authorizationServicesEnabled protocolMappers webOrigins';
  return {
    client: { client_id: clientId, client_name: name, ...(usesCode && urisOfKeycloak(fields)) },
    isPublic: isPublic === true,
    grants: usesCode ? USUAL : isService ? ['client_credentials'] : [],
    scopes: scopes.filter((scope) => !own.test(scope)),
    secret: fields['secret'],
    isTrusted: false,
    isUnasked: fields['consentRequired'] !== true,
    left: [
      ...others.split(' ').filter((key) => fields[key] === true || Array.isArray(fields[key])),
      ...(usesCode && isService ? ['serviceAccountsEnabled'] : []),
    ],
  };
}

/** Where + stands for the redirect URIs, and a path for one below `rootUrl`. */
function urisOfKeycloak({ rootUrl, redirectUris, attributes }: Fields) {
  const root = textOf(rootUrl).replace(/\/$/, '');
  const absolute = (uri: string) => (uri.startsWith('/') ? `${root}${uri}` : uri);
  const uris = listOf(redirectUris).map(absolute);
  const ends = isRecord(attributes) ? attributes['post.logout.redirect.uris'] : undefined;
  const logoutUris = textOf(ends).split('##').filter(Boolean);
  return {
    redirect_uris: uris,
    post_logout_redirect_uris: logoutUris.flatMap((uri) => (uri === '+' ? uris : absolute(uri))),
  };
}

const PROVIDERS = {
  dex: { path: ['staticClients'], toDraft: fromDex },
  authelia: { path: ['identity_providers', 'oidc', 'clients'], toDraft: fromAuthelia },
  keycloak: { path: ['clients'], toDraft: fromKeycloak },
};

export type ImportFormat = keyof typeof PROVIDERS;
export const IMPORT_FORMATS = Object.keys(PROVIDERS) as ImportFormat[];

/** The clients in `file` as a file for `clients_from`, and what was not carried over. Throws ConfigError when it can't be read. */
export async function importClients(file: string, format: ImportFormat) {
  const problems = new ProblemList();
  const document = await readDocument(file, problems);
  if (!document) throw new ConfigError(problems.list());
  const { path, toDraft } = PROVIDERS[format];
  const found = path.reduce<unknown>(
    (node, key) => (isRecord(node) ? node[key] : undefined),
    document.content,
  );
  if (!Array.isArray(found)) throw new ConfigError([{ file, message: `holds no clients of ${format}` }]);
  /** Never a secret. */
  const notes: string[] = [];
  const clients = found
    .filter(isRecord)
    .map(toDraft)
    .filter((draft) => draft !== undefined)
    .map((draft) => toForm(draft, (words) => notes.push(`${textOf(draft.client['client_id'])}: ${words}`)));
  const yaml = stringify(clients, { lineWidth: 0, aliasDuplicateObjects: false });
  const isSafe = yaml.split('\n').every((line) => escaped(line) === line);
  // JSON is YAML, and has escapes everywhere.
  const lines = (isSafe ? yaml : `${JSON.stringify(clients, undefined, 2)}\n`).split('\n');
  return { yaml: lines.map(escaped).join('\n'), count: clients.length, notes: notes.map(escaped) };
}

type Note = (words: string) => unknown;

const isEmpty = (value: unknown) => value === undefined || (Array.isArray(value) && value.length === 0);

/** A client as the file has it. */
function toForm(draft: Draft, note: Note): Fields {
  const { client, isPublic, grants, scopes, secret, isTrusted, left } = draft;
  const usesCode = grants.includes('authorization_code');
  if (draft.isUnasked && usesCode && !isPublic)
    note('now asks users for consent: set consent: implicit for an app of your own');
  if (left.length > 0) note(`not carried over: ${left.join(', ')}`);
  // RFC 8252 §8.6: without a secret, any app can claim to be this one.
  const consent = isTrusted && !isPublic ? 'implicit' : 'explicit';
  const fields = {
    ...client,
    ...(isPublic && { token_endpoint_auth_method: 'none' }),
    client_secrets: isPublic ? [] : toSecrets(secret, note),
    grant_types: grants,
    scope: toScopes(scopes, grants).join(' '),
    consent: usesCode ? consent : undefined,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isEmpty(value)));
}

/** Refresh tokens are issued for offline_access only. A service has no scope that is about users. */
function toScopes(scopes: readonly string[], grants: readonly string[]): readonly string[] {
  const personal: readonly string[] = [...SPECIFICATION_SCOPES, 'groups'];
  if (!grants.includes('authorization_code')) return scopes.filter((scope) => !personal.includes(scope));
  const others = scopes.filter((scope) => scope !== 'openid' && scope !== 'offline_access');
  return ['openid', ...new Set(others), ...(grants.includes('refresh_token') ? ['offline_access'] : [])];
}

function toSecrets(secret: unknown, note: Note): readonly object[] {
  const text = textOf(secret);
  if (text.startsWith('env:')) return [{ value: text }];
  if (phcFault(text) === undefined) return [{ hash: text, name: 'imported' }];
  // PBKDF2 and others can't be compared here. Where an export leaves secrets out, it has asterisks.
  const fault = /^(\$.*|\**)$/.test(text) ? "can't be imported" : weakness(text);
  if (fault === undefined) return [{ hash: `sha256:${digestOf(text).toString('hex')}`, name: 'imported' }];
  note(`its secret ${fault}: make one with "postern client secret"`);
  return [];
}
