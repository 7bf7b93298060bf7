// The authorization request of an app, as the URL that the browser opens.
import { type Parameters, toQuery } from './requests.ts';
import { CALLBACK, SPA_ORIGIN, type World } from './world.ts';

export const REDIRECT_URIS = {
  web: CALLBACK,
  web2: 'https://app2.example/cb',
  post: CALLBACK,
  spa: `${SPA_ORIGIN}/cb`,
  native: 'http://127.0.0.1:51004/cb',
  'first-party': 'https://own.example/cb',
} as const;
export type CodeClient = keyof typeof REDIRECT_URIS;

/** The code verifier of RFC 7636 Appendix B. */
export const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
export const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';

/** All parameters that docs/contract.md names for GET /oauth/authorize. */
export const AUTHORIZATION_REQUEST = {
  response_type: 'code',
  client_id: 'web',
  redirect_uri: CALLBACK,
  scope: 'openid email profile',
  state: 'state-of-the-client',
  code_challenge: CHALLENGE,
  code_challenge_method: 'S256',
  nonce: 'nonce-of-the-client',
} as const;

/** Changes that remove PKCE. */
export const NO_PKCE = { code_challenge: undefined, code_challenge_method: undefined } as const;

/** The scopes for every API of the world and a refresh token. */
export const DEFAULT_SCOPE = 'openid email profile offline_access reports.read';

/** The scopes of clients that may not request all of these. */
const SCOPES: Readonly<Record<string, string>> = { native: 'openid', 'first-party': 'openid email' };

/** The path of a correct request with `changes`; uses the redirect URI of the client that `changes` names. */
export function authorizationPath(changes: Parameters = {}): string {
  const client = changes['client_id'] ?? AUTHORIZATION_REQUEST.client_id;
  const own = {
    ...(Object.hasOwn(REDIRECT_URIS, client) && { redirect_uri: REDIRECT_URIS[client as CodeClient] }),
    ...(Object.hasOwn(SCOPES, client) && { scope: SCOPES[client] }),
  };
  const request = { ...AUTHORIZATION_REQUEST, ...own, ...changes };
  // Without an ID token there is nothing to hold a nonce.
  const hasNonce = 'nonce' in changes || (request.scope ?? 'openid').includes('openid');
  return `/oauth/authorize?${toQuery({ ...request, ...(!hasNonce && { nonce: undefined }) })}`;
}

export function authorizationUrl(world: Pick<World, 'issuer'>, changes: Parameters = {}): string {
  return `${world.issuer}${authorizationPath(changes)}`;
}
