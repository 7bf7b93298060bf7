// The algorithms that this service signs with (RFC 7518 §3.1, RFC 8037 §3.1).

/** In the order of the key set. The first one signs access tokens. */
export const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const;
export type Algorithm = (typeof ALGORITHMS)[number];
