// Counts requests by address. What counts by client or by account is counted where those are known: oidc/provider.ts and
// users/sign-in.ts.
import type { Context, Middleware } from 'koa';
import { ENDPOINTS } from '../config/endpoints.ts';
import { isAuthenticatedForIntrospection } from '../oidc/limit-introspection.ts';
import type { AddressEndpoint, Limits } from '../limits/limits.ts';

const LIMITED: Readonly<Record<string, AddressEndpoint>> = {
  [ENDPOINTS.token]: 'token',
  [ENDPOINTS.revocation]: 'revocation',
  [ENDPOINTS.userinfo]: 'userinfo',
  [ENDPOINTS.authorization]: 'authorization',
  [ENDPOINTS.logout]: 'logout',
};
/** What stands between an authorization or sign-out request and its answer. */
const PAGES = ['/interaction/', `${ENDPOINTS.authorization}/`, `${ENDPOINTS.logout}/`];

/** What every request for this path counts as. Introspection depends on more than the path. */
export function addressEndpointOf(path: string): AddressEndpoint | undefined {
  return LIMITED[path] ?? (PAGES.some((prefix) => path.startsWith(prefix)) ? 'pages' : undefined);
}

/** `isValid` looks at an access token without asking the store. */
export function limitAddresses(limits: Limits, isValid: (jwt: string) => Promise<boolean>): Middleware {
  /** Behind the address of an app are its callers, and what they made up must not count against what they were given. */
  async function endpointOf(ctx: Context): Promise<AddressEndpoint | undefined> {
    const endpoint = addressEndpointOf(ctx.path);
    if (endpoint !== 'userinfo') return endpoint;
    const [, token = ''] = /^bearer ([^ ]+)$/i.exec(ctx.get('authorization')) ?? [];
    return (await isValid(token)) ? 'userinfo' : 'userinfo.unknown';
  }

  return async function limitAddress(ctx, next) {
    const address = String(ctx.state['clientAddress']);
    if (ctx.path === ENDPOINTS.introspection) {
      // A client that has authenticated is never refused for what others behind its address do.
      try {
        return await next();
      } finally {
        if (!isAuthenticatedForIntrospection(ctx)) await limits.takeAddress('introspection', address);
      }
    }
    const endpoint = await endpointOf(ctx);
    if (endpoint !== undefined) await limits.takeAddress(endpoint, address);
    return next();
  };
}
