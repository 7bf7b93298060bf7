// A grant type that is offered, though not to this client, is `unauthorized_client` (RFC 6749 §5.2); the engine says
// `invalid_request`.
import type { KoaContextWithOIDC } from 'oidc-provider';

export const FOREIGN_GRANT = 'unauthorized_client';

const GRANT_TYPES: ReadonlySet<unknown> = new Set([
  'authorization_code',
  'refresh_token',
  'client_credentials',
]);

export function isGrantType(asked: unknown): asked is string {
  return GRANT_TYPES.has(asked);
}

/** `error` is what the engine calls it. */
export function isForeignGrant({ oidc }: Pick<KoaContextWithOIDC, 'oidc'>, error: unknown): boolean {
  const { params, client, route } = oidc;
  const asked: unknown = params?.['grant_type'];
  return (
    route === 'token' &&
    error === 'invalid_request' &&
    client !== undefined &&
    isGrantType(asked) &&
    !client.grantTypeAllowed(asked)
  );
}
