// Counts requests by address. Limits by client or by account are counted where these are known: oidc/client-authentication.ts
// and users/sign-in.ts.
import type { Context, Middleware } from 'koa';
import { findEndpoint } from '../config/endpoints.ts';
import { clientAddressOf } from '../observability/audit.ts';
import { hasClient } from '../oidc/client-authentication.ts';
import type { Limits } from '../limits/limits.ts';
import type { AccessTokens } from '../tokens/access-token.ts';

export function limitAddresses(limits: Limits, tokens: AccessTokens): Middleware {
  /** An app's callers share its address, so forged tokens must not count against the limit for valid ones. */
  async function userinfoOf(ctx: Context): Promise<string> {
    const [, token = ''] = /^bearer ([^ ]+)$/i.exec(ctx.get('authorization')) ?? [];
    return (await tokens.verify(token)) === undefined ? 'userinfo.unknown' : 'userinfo';
  }

  return async function limitAddress(ctx, next) {
    const address = clientAddressOf(ctx);
    const endpoint = findEndpoint(ctx.path);
    if (endpoint?.caller === 'client') {
      // A client that has authenticated is never rejected because of others behind its address.
      try {
        return await next();
      } finally {
        if (!hasClient(ctx)) await limits.takeAddress(endpoint.limit, address);
      }
    }
    const limit = endpoint?.limit === 'userinfo' ? await userinfoOf(ctx) : endpoint?.limit;
    if (limit !== undefined) await limits.takeAddress(limit, address);
    return next();
  };
}
