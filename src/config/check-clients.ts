// The rules between the fields of a client, between clients, and between a client and the service.
import { isUrlClient } from './client-id-url.ts';
import { list } from '../features/index.ts';
import { forUsers, earlier, type Entry, foreignScopesFault, type Rule, type ScopeOwners } from './rules.ts';
import type { ClientForm } from './schema-client.ts';
import type { ServiceForm } from './schema.ts';
import type { Algorithm } from './signing-algorithms.ts';
import type { Level } from './sign-in-levels.ts';
import { isLoopbackUrl, isNativeRedirect } from './uri.ts';
import { quoted } from './yaml.ts';

export type ClientContext = ScopeOwners &
  Readonly<{
    issuerIsLoopback: boolean;
    features: ServiceForm['features'];
    /** The levels that a sign-in can reach with the enabled methods. */
    offered: readonly Level[];
    algorithms: readonly Algorithm[];
  }>;

type ClientRule = Rule<ClientForm, ClientContext>;

const rule = (at: ClientRule['at'], fault: ClientRule['fault']): ClientRule => ({ at, fault });

const isMachine = ({ grant_types }: ClientForm) => grant_types.includes('client_credentials');

const RULES: readonly ClientRule[] = [
  // The engine lets a client without `scope` request all scopes.
  rule('scope', ({ scope, grant_types }) =>
    grant_types.length > 0 && scope.length === 0 ? 'must name at least one scope' : undefined,
  ),
  rule('scope', ({ scope }, context) => foreignScopesFault(scope, context)),
  rule('default_scope', ({ default_scope: defaults, scope }, { apiOf }) => {
    if (defaults === undefined) return undefined;
    if (defaults.length === 0) return 'must name at least one scope';
    if (defaults.some((token) => !scope.includes(token))) return 'has scopes that are missing in scope';
    // OIDC Core §11: offline access requires prompt=consent.
    if (defaults.includes('offline_access'))
      return 'must not include offline_access: an app must request it with prompt=consent';
    const apis = new Set(defaults.map(apiOf).filter((api) => api !== undefined));
    // RFC 9068 §3: a token for two APIs would let each use it at the other.
    return apis.size > 1 ? 'has scopes of several resources: use only one' : undefined;
  }),
  ...(['access', 'groups_claim', 'sign_in'] as const).map(forUsers),
  rule('id_token_signed_response_alg', ({ id_token_signed_response_alg: alg }, { algorithms }) =>
    algorithms.includes(alg) ? undefined : `"${alg}" is off: add it to signing_keys.algorithms`,
  ),
  rule('scope', (client, { userScopes }) => {
    const personal = client.scope.filter((token) => userScopes.includes(token));
    return isMachine(client) && personal.length > 0
      ? `a client_credentials client has no user: remove ${personal.map(quoted).join(', ')}`
      : undefined;
  }),
  rule('grant_types', ({ grant_types, scope, client_id }) =>
    grant_types.includes('refresh_token') && !scope.includes('offline_access') && !isUrlClient(client_id)
      ? 'refresh_token requires offline_access: add it to scope (OIDC Core §11)'
      : undefined,
  ),
  // RFC 6749 §4.4: > The client credentials grant type MUST only be used by confidential clients.
  rule('grant_types', (client) =>
    isMachine(client) && client.token_endpoint_auth_method === 'none'
      ? 'client_credentials requires a client with a secret: remove token_endpoint_auth_method: none (RFC 6749 §4.4)'
      : undefined,
  ),
  rule('redirect_uris', (client) => {
    if (client.grant_types.includes('authorization_code') && client.redirect_uris.length === 0) {
      return 'authorization_code requires at least one redirect URI';
    }
    return redirectsFault(client, client.redirect_uris);
  }),
  rule('post_logout_redirect_uris', (client) => redirectsFault(client, client.post_logout_redirect_uris)),
  rule('client_secrets', (client) => {
    const secrets = client.client_secrets.length + (client.client_secret === undefined ? 0 : 1);
    const isPublic = client.token_endpoint_auth_method === 'none';
    if (isPublic && secrets > 0) return 'a public client has no secret: remove it';
    if (!isPublic && secrets === 0) {
      return 'a confidential client requires a secret: add one, or set token_endpoint_auth_method: none for a public client';
    }
    return client.client_secret !== undefined && client.client_secrets.length > 0
      ? 'use either client_secret or client_secrets, not both'
      : undefined;
  }),
  rule('client_id', (client) =>
    isUrlClient(client.client_id) && client.token_endpoint_auth_method !== 'none'
      ? 'only a public client can have a URL: set token_endpoint_auth_method: none'
      : undefined,
  ),
  // RFC 8252 §8.6: without a secret, any app can pretend to be this client.
  rule('consent', (client) =>
    client.consent === 'implicit' && client.token_endpoint_auth_method === 'none'
      ? 'implicit requires a client with a secret: any app can pretend to be a public client (RFC 8252 §8.6)'
      : undefined,
  ),
  // RFC 9700 §2.1.1: > Public clients MUST use PKCE.
  rule('require_pkce', (client) =>
    client.require_pkce || client.token_endpoint_auth_method !== 'none'
      ? undefined
      : 'must be true for a public client (RFC 9700 §2.1.1)',
  ),
  ...list('clientRules'),
];

function redirectsFault(client: ClientForm, uris: readonly string[]): string | undefined {
  if (uris.length === 0) return undefined;
  if (isMachine(client))
    return 'a client_credentials client has no redirect URIs: remove them, or create a separate client for users';
  return client.grant_types.includes('authorization_code')
    ? undefined
    : 'redirect URIs require authorization_code: add it to grant_types';
}

/** The type that the client declares, otherwise the type that its redirect URIs imply. */
export function applicationTypeOf(client: ClientForm): 'web' | 'native' {
  const looksNative =
    client.token_endpoint_auth_method === 'none' && client.redirect_uris.some(isNativeRedirect);
  return client.application_type ?? (looksNative ? 'native' : 'web');
}

export function checkClients(clients: readonly Entry<ClientForm>[], context: ClientContext): void {
  const owners = new Map<string, Entry<ClientForm>>();
  for (const client of clients) {
    for (const { at, fault } of RULES) {
      const message = fault(client.value, context);
      if (message) client.report([at], message);
    }
    checkRedirectUris(client, context);
    // Users, logs and databases could confuse ids that differ only in case. The path of a URL is case-sensitive.
    const id = client.value.client_id;
    const first = earlier(owners, isUrlClient(id) ? id : id.toLowerCase(), client);
    if (first) {
      const isSame = first.value.client_id === id;
      const fault = isSame ? 'is already used' : `differs only in case from "${first.value.client_id}"`;
      client.report(['client_id'], `"${id}" ${fault} at ${first.place()}`);
    }
  }
}

function checkRedirectUris({ value, report }: Entry<ClientForm>, { issuerIsLoopback }: ClientContext): void {
  const isWeb = applicationTypeOf(value) === 'web';
  for (const key of ['redirect_uris', 'post_logout_redirect_uris'] as const) {
    for (const [index, uri] of value[key].entries()) {
      const fault = isWeb ? webRedirectFault(uri, issuerIsLoopback) : nativeRedirectFault(uri);
      if (fault) report([key, index], fault);
    }
  }
}

function webRedirectFault(uri: string, issuerIsLoopback: boolean): string | undefined {
  if (!/^https?:/i.test(uri)) return 'a private-use scheme requires application_type: native (RFC 8252 §7.1)';
  return isNativeRedirect(uri) && !issuerIsLoopback
    ? 'must be https: http on localhost requires application_type: native, or an issuer on localhost'
    : undefined;
}

function nativeRedirectFault(uri: string): string | undefined {
  return !isNativeRedirect(uri) && isLoopbackUrl(uri)
    ? 'must be http on localhost: https is only for a host that the app has claimed (RFC 8252 §7.2)'
    : undefined;
}
