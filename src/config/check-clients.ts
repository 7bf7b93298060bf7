// The rules between the fields of a client, between clients, and between a client and the service.
import { isUrlClient } from './client-id-url.ts';
import { list } from '../features/index.ts';
import { forUsers, earlier, type Entry, foreignScopesFault, type Rule, type ScopeOwners } from './rules.ts';
import type { ClientForm } from './schema-client.ts';
import type { ServiceForm } from './schema.ts';
import type { Algorithm } from './signing-algorithms.ts';
import type { Level } from './sign-in-levels.ts';
import { isLoopbackUrl, isNativeRedirect } from './uri.ts';

/** What the rules know of the rest of the configuration. */
export type ClientContext = ScopeOwners &
  Readonly<{
    issuerIsLoopback: boolean;
    features: ServiceForm['features'];
    /** What a sign-in can reach by the methods that are on. */
    offered: readonly Level[];
    /** What ID tokens can be signed with. */
    algorithms: readonly Algorithm[];
  }>;

type ClientRule = Rule<ClientForm, ClientContext>;

const rule = (at: ClientRule['at'], fault: ClientRule['fault']): ClientRule => ({ at, fault });

const isMachine = ({ grant_types }: ClientForm): boolean => grant_types.includes('client_credentials');

const RULES: readonly ClientRule[] = [
  // The engine would let a client without `scope` ask for every scope there is.
  rule('scope', ({ scope, grant_types }) =>
    grant_types.length > 0 && scope.length === 0 ? 'must name at least one scope' : undefined,
  ),
  rule('scope', ({ scope }, context) => foreignScopesFault(scope, context)),
  rule('default_scope', ({ default_scope: defaults, scope }, { apiOf }) => {
    if (defaults === undefined) return undefined;
    if (defaults.length === 0) return 'must name at least one scope';
    if (defaults.some((token) => !scope.includes(token))) return "has scopes that scope doesn't have";
    // OIDC Core §11: lasting access is asked for, with prompt=consent.
    if (defaults.includes('offline_access'))
      return 'must not have offline_access: an app asks for that itself';
    const apis = new Set(defaults.map(apiOf).filter((api) => api !== undefined));
    // RFC 9068 §3: a token for two APIs would let each use it at the other.
    return apis.size > 1 ? 'has scopes of several resources: no token can be for more than one' : undefined;
  }),
  ...(['access', 'groups_claim', 'sign_in'] as const).map(forUsers),
  rule('id_token_signed_response_alg', ({ id_token_signed_response_alg: alg }, { algorithms }) =>
    algorithms.includes(alg) ? undefined : `${alg} is not one of signing_keys.algorithms: add it there`,
  ),
  rule('scope', (client, { userScopes }) => {
    const personal = client.scope.filter((token) => userScopes.includes(token));
    return isMachine(client) && personal.length > 0
      ? `a client_credentials client has no user: remove ${personal.join(', ')}`
      : undefined;
  }),
  rule('grant_types', ({ grant_types, scope, client_id }) =>
    grant_types.includes('refresh_token') && !scope.includes('offline_access') && !isUrlClient(client_id)
      ? 'refresh_token needs offline_access in scope: refresh tokens are issued for that scope only (OIDC Core §11)'
      : undefined,
  ),
  // RFC 6749 §4.4: > The client credentials grant type MUST only be used by confidential clients.
  rule('grant_types', (client) =>
    isMachine(client) && client.token_endpoint_auth_method === 'none'
      ? 'client_credentials needs a confidential client, not token_endpoint_auth_method: none (RFC 6749 §4.4)'
      : undefined,
  ),
  rule('redirect_uris', (client) => {
    if (client.grant_types.includes('authorization_code') && client.redirect_uris.length === 0) {
      return 'authorization_code needs at least one redirect URI';
    }
    return redirectsFault(client, client.redirect_uris);
  }),
  rule('post_logout_redirect_uris', (client) => redirectsFault(client, client.post_logout_redirect_uris)),
  rule('client_secrets', (client) => {
    const secrets = client.client_secrets.length + (client.client_secret === undefined ? 0 : 1);
    const isPublic = client.token_endpoint_auth_method === 'none';
    if (isPublic && secrets > 0) return 'a client with token_endpoint_auth_method: none has no secret';
    if (!isPublic && secrets === 0) {
      return 'a confidential client needs a secret; a public one says token_endpoint_auth_method: none';
    }
    return client.client_secret !== undefined && client.client_secrets.length > 0
      ? 'must have either client_secret or client_secrets'
      : undefined;
  }),
  rule('client_id', (client) =>
    isUrlClient(client.client_id) && client.token_endpoint_auth_method !== 'none'
      ? 'a URL is for a client without a secret: token_endpoint_auth_method: none'
      : undefined,
  ),
  // RFC 8252 §8.6: without a secret, anybody can claim to be this client.
  rule('consent', (client) =>
    client.consent === 'implicit' && client.token_endpoint_auth_method === 'none'
      ? 'implicit needs a client with a secret: any app can claim to be a public client, so users must be asked (RFC 8252 §8.6)'
      : undefined,
  ),
  // RFC 9700 §2.1.1: > Public clients MUST use PKCE.
  rule('require_pkce', (client) =>
    client.require_pkce || client.token_endpoint_auth_method !== 'none'
      ? undefined
      : 'must be true, unless the client has a secret (RFC 9700 §2.1.1)',
  ),
  ...list('clientRules'),
];

function redirectsFault(client: ClientForm, uris: readonly string[]): string | undefined {
  if (uris.length === 0) return undefined;
  if (isMachine(client))
    return 'a client_credentials client has no redirect URIs: make one client per service';
  return client.grant_types.includes('authorization_code')
    ? undefined
    : 'redirect URIs need authorization_code in grant_types';
}

/** web or native: as the client says, or as its redirect URIs can only mean. */
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
    // Two ids that users, logs or databases could take for one. The path of a URL has a case.
    const id = client.value.client_id;
    const first = earlier(owners, isUrlClient(id) ? id : id.toLowerCase(), client);
    if (first) {
      const isSame = first.value.client_id === id;
      const fault = isSame ? 'is already used' : `differs in case only from ${first.value.client_id}`;
      client.report(['client_id'], `${id} ${fault} at ${first.place()}`);
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
  if (!/^https?:/i.test(uri)) return 'a private scheme is for application_type: native (RFC 8252 §7.1)';
  return isNativeRedirect(uri) && !issuerIsLoopback
    ? 'must be https; http on this machine is for application_type: native, or while the issuer is localhost too'
    : undefined;
}

function nativeRedirectFault(uri: string): string | undefined {
  return !isNativeRedirect(uri) && isLoopbackUrl(uri)
    ? 'must be http on loopback: an https redirect of a native app is a host that the app has claimed (RFC 8252 §7.2)'
    : undefined;
}
