// Clients of an Authelia configuration: `identity_providers.oidc.clients`.
import {
  listOf,
  objectsAt,
  textOf,
  unknownKeys,
  valueAt,
  type ClientDraft,
  type Fields,
  type ImportedSecret,
} from './client-draft.ts';
import { isRecord } from '../../config/parse-fields.ts';

const GRANTS = ['authorization_code', 'refresh_token', 'client_credentials'];
const KNOWN = [
  'client_id',
  'client_name',
  'client_secret',
  'public',
  'redirect_uris',
  'grant_types',
  'scopes',
  'token_endpoint_auth_method',
  'consent_mode',
  'authorization_policy',
  // Postern always does these.
  'response_types',
  'response_modes',
  'require_pkce',
  'pkce_challenge_method',
];

export function importAuthelia(content: unknown): ClientDraft[] | undefined {
  const provider = valueAt(content, ['identity_providers', 'oidc']);
  const policies = valueAt(provider, ['authorization_policies']);
  return objectsAt(provider, ['clients'])?.map((fields) =>
    toDraft(fields, isRecord(policies) ? policies : {}),
  );
}

/** The groups of a policy that lets nobody else in; undefined for one that says anything else. */
function groupsOf(policy: unknown): string[] | undefined {
  if (!isRecord(policy) || policy['default_policy'] !== 'deny' || !Array.isArray(policy['rules'])) {
    return undefined;
  }
  const subjects = policy['rules'].flatMap((rule: unknown): unknown[] =>
    isRecord(rule) && rule['policy'] !== 'deny' && !('networks' in rule)
      ? [rule['subject']].flat()
      : [undefined],
  );
  const groups = subjects.map((subject) =>
    typeof subject === 'string' && subject.startsWith('group:') ? subject.slice('group:'.length) : undefined,
  );
  return groups.length > 0 && groups.every((name) => name !== undefined) ? groups : undefined;
}

function toAccess(
  name: string | undefined,
  policies: Fields,
): { readonly groups?: readonly string[] | undefined; readonly notes: readonly string[] } {
  if (name === undefined || name === 'one_factor') return { notes: [] };
  if (name === 'two_factor') return { notes: ['not carried over: authorization_policy'] };
  const groups = groupsOf(policies[name]);
  const note = `its authorization_policy ${name} is not carried over, so everybody may use it: see access`;
  return { groups, notes: groups === undefined ? [note] : [] };
}

function toDraft(fields: Fields, policies: Fields): ClientDraft {
  const access = toAccess(textOf(fields, 'authorization_policy'), policies);
  const scopes = listOf(fields, 'scopes');
  const grants = listOf(fields, 'grant_types');
  const refreshes = scopes.includes('offline_access') ? ['refresh_token'] : [];
  const wanted = grants.length === 0 ? ['authorization_code', ...refreshes] : grants;
  const method = textOf(fields, 'token_endpoint_auth_method') ?? 'client_secret_basic';
  const isPublic = fields['public'] === true || method === 'none';
  const isKnownMethod = ['client_secret_basic', 'client_secret_post', 'none'].includes(method);
  return {
    clientId: textOf(fields, 'client_id') ?? 'NAME_ME',
    clientName: textOf(fields, 'client_name'),
    secret: toSecret(textOf(fields, 'client_secret')),
    redirectUris: listOf(fields, 'redirect_uris'),
    postLogoutRedirectUris: [],
    corsOrigins: [],
    grantTypes: wanted.filter((grant) => GRANTS.includes(grant)),
    authMethod: isPublic ? 'none' : method === 'client_secret_post' ? method : 'client_secret_basic',
    scopes: scopes.length === 0 ? ['openid', 'profile', 'email'] : scopes,
    consent: textOf(fields, 'consent_mode') === 'implicit' ? 'implicit' : 'explicit',
    accessGroups: access.groups,
    notes: [
      ...access.notes,
      ...wanted
        .filter((grant) => !GRANTS.includes(grant))
        .map((grant) => `grant ${grant} does not exist here`),
      ...(isKnownMethod ? [] : [`${method} does not exist here: client_secret_basic is used`]),
      ...unknownKeys(fields, KNOWN),
    ],
  };
}

/** PBKDF2 and others can't be compared here. */
function toSecret(text: string | undefined): ImportedSecret | undefined {
  if (text?.startsWith('$argon2id$')) return { kind: 'argon2id', phc: text };
  if (text?.startsWith('$plaintext$')) return { kind: 'plain', value: text.slice('$plaintext$'.length) };
  return text === undefined || text.startsWith('$') ? undefined : { kind: 'plain', value: text };
}
