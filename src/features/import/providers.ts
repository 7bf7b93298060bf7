// Converts other providers' files to our settings. A value that Postern rejects, such as a wildcard in a redirect URI, stays as it is, for
// `postern check` to report. Paths are keys, separated by slashes.
import { type Fields, recordsOf, textOf, textsOf, valueAt } from './fields.ts';
import { isOwnRole } from './users.ts';

export type ClientDraft = Readonly<{
  /** The client in the form of our file, without the fields below. */
  client: Fields;
  isPublic: boolean;
  grants: readonly string[];
  scopes: readonly string[];
  /** In plain text, as argon2id, or `env:NAME`. */
  secret: unknown;
  fields: Fields;
  /** What isn't carried over, in addition to the fields that weren't read. */
  left?: readonly string[];
}>;

export type Provider = Readonly<{
  clientsAt: string;
  toClient: (fields: Fields, content: unknown) => ClientDraft | undefined;
  issuerOf: (content: unknown) => string;
  /** Paths in the provider's file, by paths in ours. */
  settings: Readonly<Record<string, string>>;
  groupsOf?: (content: unknown) => readonly string[];
  notesOf: (content: unknown) => readonly string[];
  /** Usernames of users with second factors. */
  withFactors?: (content: unknown) => readonly string[];
  /** Paths that the report leaves out: they have a note, or every file has them. */
  known: RegExp;
}>;

const USUAL = ['authorization_code', 'refresh_token'];

/** Dex gives every client the same grants and scopes. */
const dex: Provider = {
  clientsAt: 'staticClients',
  toClient(fields, content) {
    const { id, idEnv, name, secret, secretEnv: env, redirectURIs: uris } = fields;
    const consent = valueAt(content, 'oauth2/skipApprovalScreen') === true ? 'implicit' : undefined;
    return {
      client: {
        client_id: id ?? `env:${textOf(idEnv)}`,
        client_name: name,
        redirect_uris: uris,
        id_token_claims: 'full',
        consent,
      },
      isPublic: fields['public'] === true,
      grants: USUAL,
      scopes: ['email', 'profile', 'groups'],
      secret: typeof env === 'string' ? `env:${env}` : secret,
      fields,
    };
  },
  issuerOf: (content) => textOf(valueAt(content, 'issuer')),
  settings: {
    'branding/name': 'frontend/issuer',
    'cors/allowed_origins': 'web/allowedOrigins',
    'lifetimes/access_token': 'expiry/idTokens',
    'lifetimes/refresh_token': 'expiry/refreshTokens/validIfNotUsedFor',
    'lifetimes/refresh_token_absolute': 'expiry/refreshTokens/absoluteLifetime',
  },
  notesOf: (content) => [
    ...recordsOf(valueAt(content, 'connectors')).map(
      ({ id }) => `connector ${textOf(id)}: its users can't sign in`,
    ),
    ...textsOf(valueAt(content, 'oauth2/grantTypes'))
      .filter((grant) => !USUAL.includes(grant))
      .map((grant) => `grant type ${grant}: not carried over`),
  ],
  known: /^\.(staticClients$|connectors\[\]\.|enablePasswordDB|staticPasswords\[\]\.(hash|userID))/,
};

const SAME = ['client_id', 'client_name', 'redirect_uris', 'token_endpoint_auth_method'];

const authelia: Provider = {
  clientsAt: 'identity_providers/oidc/clients',
  toClient(fields, content) {
    const oidc = valueAt(content, 'identity_providers/oidc');
    const claims = valueAt(oidc, `claims_policies/${textOf(fields['claims_policy'])}/id_token`);
    const scopes = textsOf(fields['scopes'] ?? ['profile', 'email', 'groups']);
    const usual = scopes.includes('offline_access') ? USUAL : USUAL.slice(0, 1);
    const grants = textsOf(fields['grant_types'] ?? usual);
    const policy = accessByPolicy(textOf(fields['authorization_policy'] ?? 'two_factor'), oidc);
    return {
      client: {
        ...Object.fromEntries(SAME.map((key) => [key, fields[key]])),
        id_token_claims: textsOf(claims).length > 0 ? 'full' : undefined,
        consent: fields['consent_mode'] === 'implicit' ? 'implicit' : undefined,
        require_pkce: fields['require_pkce'],
        ...(grants.includes('authorization_code') && policy),
      },
      isPublic: fields['public'] === true,
      grants,
      scopes,
      secret: textOf(fields['client_secret']).replace(/^\$plaintext\$/, ''),
      fields,
    };
  },
  issuerOf: (content) => textOf(recordsOf(valueAt(content, 'session/cookies'))[0]?.['authelia_url']),
  settings: {
    'cors/allowed_origins': 'identity_providers/oidc/cors/allowed_origins',
    'lifetimes/access_token': 'identity_providers/oidc/lifespans/access_token',
    'lifetimes/refresh_token': 'identity_providers/oidc/lifespans/refresh_token',
    'lifetimes/session': 'session/cookies/0/inactivity session/inactivity',
    'lifetimes/session_absolute': 'session/cookies/0/expiration session/expiration',
  },
  notesOf: () => [
    'access_control: its rules are for sites behind a proxy, and never applied to OpenID Connect',
  ],
  known:
    /^\.(access_control|authentication_backend\.file|identity_providers\.oidc\.(hmac|jwks|clients($|\[\]\.(response_|pkce_))))/,
};

/** Prefix of groups that are never defined. */
export const POLICY_GROUP = 'authorization_policy:';

/** Turns a policy with denials, or with rules for users or networks, into an undefined group: the file is refused, and no rule lost. */
function accessByPolicy(name: string, oidc: unknown) {
  const policy = valueAt(oidc, `authorization_policies/${name}`);
  const usual = valueAt(policy, 'default_policy') ?? (policy === undefined ? name : 'two_factor');
  const rules = recordsOf(valueAt(policy, 'rules'));
  const levels = [usual, ...rules.map((rule) => rule['policy'] ?? 'two_factor')];
  // If it was required of some users only, it is now required of all.
  const sign_in = levels.includes('two_factor') ? { require: 'second_factor' } : undefined;
  if (/^(one|two)_factor$/.test(textOf(usual)) && !levels.includes('deny')) return { sign_in };
  const groups = rules
    .flatMap(({ subject }): unknown[] => (Array.isArray(subject) ? subject : [subject]))
    .map((subject) => /^group:(.+)$/.exec(textOf(subject))?.[1] ?? '');
  const isPlain = levels.lastIndexOf('deny') === 0 && rules.every(({ networks }) => networks === undefined);
  const isOfGroups = isPlain && groups.length > 0 && !groups.includes('');
  return { sign_in, access: { groups: isOfGroups ? groups : [`${POLICY_GROUP}${name}`] } };
}

/** Keycloak creates some clients and scopes for itself. */
const OWN_CLIENTS = /^(account|account-console|admin-cli|broker|realm-management|security-admin-console)$/;
const OWN_SCOPES = /^(roles|web-origins|acr|basic|microprofile-jwt|service_account|organization)$/;
const OF_GROUPS = /^oidc-(group-membership|usermodel-realm-role)-mapper$/;
/** Parts that every export has, and those with notes. */
const KNOWN_TO_KEYCLOAK =
  /^\.((id|realm|enabled|notBefore|keycloakV.*|ssl.*|.*Mappings|clients|.*Flow)$|default|required|auth|browserS|otp|webAuthn|accessC|action|oauth2|client[SOP]|max|minimum|wait|quick|failure|bruteForceS|events|enabledE|adminE|identity|roles|components|attributes\.(ciba|client|oauth2|par|realm|short|action)|(groups.*|users)\[\]\.(id|path|created|credentials|access|totp)|clients\[\]\.(id|clientAuth|front|fullScope|access|protocolM|attributes\.(realm_client|client\.secret|backchannel\.logout\.[sr])))/;

/** Disabled clients are left out. */
const keycloak: Provider = {
  clientsAt: 'clients',
  toClient(fields) {
    const { clientId, name, attributes, protocol = 'openid-connect' } = fields;
    const isOurs = fields['enabled'] !== false && protocol === 'openid-connect';
    if (!isOurs || OWN_CLIENTS.test(textOf(clientId))) return undefined;
    const isPublic = fields['publicClient'] === true;
    const usesCode = fields['standardFlowEnabled'] !== false && fields['bearerOnly'] !== true;
    const isService = fields['serviceAccountsEnabled'] === true && !isPublic;
    const scopes = ['defaultClientScopes', 'optionalClientScopes'].flatMap((key) => textsOf(fields[key]));
    const mappers = recordsOf(fields['protocolMappers']).map((one) => textOf(one['protocolMapper']));
    const hasPkce = valueAt(attributes, 'pkce.code.challenge.method') === 'S256';
    return {
      client: {
        client_id: clientId,
        client_name: textOf(name) || undefined,
        ...(usesCode && { ...urisOfKeycloak(fields), id_token_claims: 'full', require_pkce: hasPkce }),
      },
      isPublic,
      grants: usesCode ? USUAL : isService ? ['client_credentials'] : [],
      scopes: [
        ...scopes.filter((scope) => !OWN_SCOPES.test(scope)),
        ...mappers.filter((mapper) => OF_GROUPS.test(mapper)).map(() => 'groups'),
      ],
      secret: fields['secret'],
      fields,
      left: leftOfKeycloak(fields, usesCode && !isPublic),
    };
  },
  issuerOf(realm) {
    const url = textOf(valueAt(realm, 'attributes/frontendUrl')).replace(/\/$/, '');
    return url && `${url}/realms/${textOf(valueAt(realm, 'realm'))}`;
  },
  settings: {
    'branding/name': 'displayName',
    'lifetimes/access_token': 'accessTokenLifespan',
    // Keycloak calls refresh tokens that outlive the session offline tokens.
    'lifetimes/refresh_token': 'offlineSessionIdleTimeout',
    'lifetimes/refresh_token_absolute': 'offlineSessionMaxLifespan',
    'lifetimes/session': 'ssoSessionIdleTimeout',
    'lifetimes/session_absolute': 'ssoSessionMaxLifespan',
  },
  groupsOf: (realm) => [
    ...pathsOf(valueAt(realm, 'groups')),
    ...namesIn(valueAt(realm, 'roles/realm')).filter((role) => !isOwnRole(role)),
  ],
  notesOf: (realm) => [
    'groups and roles: a group is its path without the first slash, a role of the realm is a group, roles of clients and in other roles are left out. Apps ask for the scope groups and read the claim groups',
    ...recordsOf(valueAt(realm, 'identityProviders')).map(
      ({ alias }) => `identity provider ${textOf(alias)}: left out`,
    ),
    ...namesIn(valueAt(realm, 'components/org.keycloak.storage.UserStorageProvider')).map(
      (name) => `users of ${name}: left out`,
    ),
  ],
  withFactors: (realm) =>
    recordsOf(valueAt(realm, 'users'))
      .filter(({ credentials }) => recordsOf(credentials).some(({ type }) => type !== 'password'))
      .map(({ username }) => textOf(username)),
  known: KNOWN_TO_KEYCLOAK,
};

function leftOfKeycloak(fields: Fields, isConfidential: boolean): string[] {
  const left = Array.isArray(fields['protocolMappers']) ? ['protocolMappers'] : [];
  if (!isConfidential) return left;
  if (fields['serviceAccountsEnabled'] === true) left.push('serviceAccountsEnabled');
  if (fields['consentRequired'] !== true)
    left.push('sign-in without consent (set consent: implicit for an app of your own)');
  return left;
}

const namesIn = (list: unknown) => recordsOf(list).map(({ name }) => textOf(name));

const pathsOf = (groups: unknown, above = ''): string[] =>
  recordsOf(groups).flatMap(({ name, subGroups }) => {
    const path = `${above}${textOf(name)}`;
    return [path, ...pathsOf(subGroups, `${path}/`)];
  });

/** Replaces `+` with the redirect URIs, and a path with a URI below `rootUrl`. */
function urisOfKeycloak({ rootUrl, redirectUris, attributes }: Fields) {
  const root = textOf(rootUrl).replace(/\/$/, '');
  const absolute = (uri: string) => (uri.startsWith('/') ? `${root}${uri}` : uri);
  const redirect_uris = textsOf(redirectUris).map(absolute);
  const ends = textOf(valueAt(attributes, 'post.logout.redirect.uris')).split('##').filter(Boolean);
  const post_logout_redirect_uris = ends.flatMap((uri) => (uri === '+' ? redirect_uris : absolute(uri)));
  const backchannel_logout_uri = textOf(valueAt(attributes, 'backchannel.logout.url')) || undefined;
  return { redirect_uris, post_logout_redirect_uris, backchannel_logout_uri };
}

export const PROVIDERS = { dex, authelia, keycloak };
