// The paths of the endpoints, once. The engine mounts them, the edge admits them, the limits name them.

/** Relative to the issuer. */
export const ENDPOINTS = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  userinfo: '/oauth/userinfo',
  introspection: '/oauth/introspect',
  revocation: '/oauth/revoke',
  logout: '/oauth/logout',
  discovery: '/.well-known/openid-configuration',
  /** RFC 8414 §3: the same document for clients that know OAuth only. */
  metadata: '/.well-known/oauth-authorization-server',
  jwks: '/oauth/jwks.json',
} as const;

/** Endpoints that scripts in a browser may call, given an allowed origin; the others are for people or their browser. */
export const SCRIPTABLE_PATHS: ReadonlySet<string> = new Set([
  ENDPOINTS.token,
  ENDPOINTS.userinfo,
  ENDPOINTS.introspection,
  ENDPOINTS.revocation,
  ENDPOINTS.discovery,
  ENDPOINTS.metadata,
  ENDPOINTS.jwks,
]);
