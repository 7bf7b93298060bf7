// Looking for tokens by trying (RFC 7662 §4, IS-29): a client may ask about so many tokens that were never ours. Whoever
// attacks an API with made-up tokens makes that API ask, so a real token is answered however many those were.
import type { Middleware } from 'koa';
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { Limits } from '../limits/limits.ts';
import type { AccessTokens } from '../tokens/access-token.ts';
import { jwtOf } from './seam/presented-jwt.ts';

/** Throws TooManyRequests in place of an answer that a token is not active. */
export function limitUnknownTokens(limits: Limits, tokens: AccessTokens): Middleware {
  return async function limitUnknownToken(ctx, next) {
    await next();
    const { oidc } = ctx as unknown as Partial<KoaContextWithOIDC>;
    const clientId = oidc?.client?.clientId;
    if (oidc?.route !== 'introspection' || clientId === undefined || !isInactive(ctx.body)) return;
    const jwt = jwtOf(oidc.params?.['token']);
    if (jwt === undefined || !(await tokens.wasOurs(jwt))) await limits.takeUnknownToken(clientId);
  };
}

function isInactive(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'active' in body && body.active === false;
}
