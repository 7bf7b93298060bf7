// Counts requests by address before anything else is done for them. What counts by client or by account is counted
// where those are known: engine/client-authentication.ts and accounts/sign-in.ts.
import type { Middleware } from 'koa';
import { ENDPOINTS } from '../config/endpoints.ts';
import type { AddressEndpoint, Limits } from '../limits/limits.ts';

const LIMITED: Readonly<Record<string, AddressEndpoint>> = {
  [ENDPOINTS.token]: 'token',
  [ENDPOINTS.introspection]: 'introspection',
  [ENDPOINTS.revocation]: 'revocation',
  [ENDPOINTS.userinfo]: 'userinfo',
  [ENDPOINTS.authorization]: 'authorization',
  [ENDPOINTS.logout]: 'logout',
};
/** What stands between an authorization or sign-out request and its answer. */
const PAGES = ['/interaction/', `${ENDPOINTS.authorization}/`, `${ENDPOINTS.logout}/`];

/** Under what a request for this path counts. */
export function addressEndpointOf(path: string): AddressEndpoint | undefined {
  return LIMITED[path] ?? (PAGES.some((prefix) => path.startsWith(prefix)) ? 'pages' : undefined);
}

export function limitAddresses(limits: Limits): Middleware {
  return async function limitAddress(ctx, next) {
    const endpoint = addressEndpointOf(ctx.path);
    if (endpoint !== undefined) await limits.takeAddress(endpoint, String(ctx.state['clientAddress']));
    return next();
  };
}
