// Counts requests by address. What counts by client or by account is counted where those are known: oidc/limit-clients.ts and
// users/sign-in.ts.
import type { Context, Middleware } from 'koa';
import { findEndpoint } from '../config/endpoints.ts';
import { hasClient } from '../oidc/limit-clients.ts';
import type { AddressEndpoint, Limits } from '../limits/limits.ts';
import type { AccessTokens } from '../tokens/access-token.ts';
import type { FastPath } from './fast-path.ts';

export function limitAddresses(limits: Limits, tokens: AccessTokens, fastPath: FastPath): Middleware {
  /** Behind the address of an app are its callers, and what they made up must not count against what they were given. */
  async function userinfoOf(ctx: Context): Promise<AddressEndpoint> {
    const [, token = ''] = /^bearer ([^ ]+)$/i.exec(ctx.get('authorization')) ?? [];
    return (await tokens.verify(token)) === undefined ? 'userinfo.unknown' : 'userinfo';
  }

  return async function limitAddress(ctx, next) {
    fastPath.assertNotRefused(ctx.req);
    const address = String(ctx.state['clientAddress']);
    const endpoint = findEndpoint(ctx.path);
    if (endpoint?.caller === 'client') {
      // One that has authenticated is never refused for what others behind its address do.
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
