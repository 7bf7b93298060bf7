// Counts requests by address. What counts by client or by account is counted where those are known: oidc/limit-clients.ts and
// users/sign-in.ts.
import type { Context, Middleware } from 'koa';
import { findEndpoint } from '../config/endpoints.ts';
import { hasClient } from '../oidc/limit-clients.ts';
import type { AddressEndpoint, Limits } from '../limits/limits.ts';

/** `isValid` looks at an access token without asking the store. */
export function limitAddresses(limits: Limits, isValid: (jwt: string) => Promise<boolean>): Middleware {
  /** Behind the address of an app are its callers, and what they made up must not count against what they were given. */
  async function userinfoOf(ctx: Context): Promise<AddressEndpoint> {
    const [, token = ''] = /^bearer ([^ ]+)$/i.exec(ctx.get('authorization')) ?? [];
    return (await isValid(token)) ? 'userinfo' : 'userinfo.unknown';
  }

  return async function limitAddress(ctx, next) {
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
