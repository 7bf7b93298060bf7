// Counts requests by address. What counts by client or by account is counted where those are known: oidc/limit-clients.ts and
// users/sign-in.ts.
import type { Context, Middleware } from 'koa';
import { ENDPOINTS } from '../config/endpoints.ts';
import { hasClient } from '../oidc/limit-clients.ts';
import type { AddressEndpoint, Limits } from '../limits/limits.ts';

/** Where a client authenticates. One that has is never refused for what others behind its address do. */
const CLIENT_ENDPOINTS: Readonly<Record<string, AddressEndpoint>> = {
  [ENDPOINTS.token]: 'token',
  [ENDPOINTS.introspection]: 'introspection',
  [ENDPOINTS.revocation]: 'revocation',
};
const LIMITED: Readonly<Record<string, AddressEndpoint>> = {
  [ENDPOINTS.userinfo]: 'userinfo',
  [ENDPOINTS.authorization]: 'authorization',
  [ENDPOINTS.logout]: 'logout',
};
/** What stands between an authorization or sign-out request and its answer. */
const PAGES = ['/interaction/', `${ENDPOINTS.authorization}/`, `${ENDPOINTS.logout}/`];

function endpointOf(path: string): AddressEndpoint | undefined {
  return LIMITED[path] ?? (PAGES.some((prefix) => path.startsWith(prefix)) ? 'pages' : undefined);
}

/** `isValid` looks at an access token without asking the store. */
export function limitAddresses(limits: Limits, isValid: (jwt: string) => Promise<boolean>): Middleware {
  /** Behind the address of an app are its callers, and what they made up must not count against what they were given. */
  async function userinfoOf(ctx: Context): Promise<AddressEndpoint> {
    const [, token = ''] = /^bearer ([^ ]+)$/i.exec(ctx.get('authorization')) ?? [];
    return (await isValid(token)) ? 'userinfo' : 'userinfo.unknown';
  }

  return async function limitAddress(ctx, next) {
    const address = String(ctx.state['clientAddress']);
    const clientEndpoint = CLIENT_ENDPOINTS[ctx.path];
    if (clientEndpoint !== undefined) {
      try {
        return await next();
      } finally {
        if (!hasClient(ctx)) await limits.takeAddress(clientEndpoint, address);
      }
    }
    const endpoint = endpointOf(ctx.path);
    if (endpoint === 'userinfo') await limits.takeAddress(await userinfoOf(ctx), address);
    else if (endpoint !== undefined) await limits.takeAddress(endpoint, address);
    return next();
  };
}
