// The first check of a request: its target is one of our paths, in its one form, with a method that is served there. All
// later middleware relies on it.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Context, Middleware } from 'koa';
import { ENDPOINTS, findEndpoint } from '../config/endpoints.ts';
import { Refusal } from '../views/refusal.ts';
import type { ClientAddress } from './client-address.ts';
import { scriptableHeaders } from './headers.ts';
import { closeUnread } from './malformed.ts';

/** RFC 3986 §3.2.2, only what a web server's host can be: a name or an address, and a port. */
const HOST = /^([\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?$/i;
const WELL_KNOWN = [ENDPOINTS.discovery, ENDPOINTS.metadata];

/** Sets `ctx.state.requestId` and `ctx.state.clientAddress`; cuts the issuer's path off `ctx.url` as a mount would. */
export function admitRequests(issuer: string, clientAddress: ClientAddress): Middleware {
  const { pathname, host } = new URL(issuer);
  const prefix = pathname === '/' ? '' : pathname;
  const ownOrigin = new RegExp(`^https?://${host.replaceAll(/[^\w-]/g, '\\$&')}(?=/)`, 'i');

  function admit(ctx: Context): void {
    ctx.state['requestId'] = randomUUID();
    // server.ts accepts no connection without an address.
    const peer = String(ctx.req.socket.remoteAddress);
    ctx.state['clientAddress'] = clientAddress(peer, ctx.req.headers['x-forwarded-for']?.toString());
    if (!hasOneHost(ctx.req))
      throw new Refusal(400, 'invalid_request', 'the request needs one Host header that names a host');
    // RFC 9112 §3.2.2: a target in absolute form is ours only if it names our host. The sender can name any.
    const target = (ctx.req.url ?? '').replace(ownOrigin, '');
    if (!target.startsWith('/'))
      throw new Refusal(400, 'invalid_request', 'the request target must be a path');

    const [fullPath = ''] = target.split('?', 1);
    const search = target.slice(fullPath.length);
    const path = ownPath(fullPath, prefix);
    const endpoint = path === undefined ? undefined : findEndpoint(path);
    if (!endpoint) throw new Refusal(404, 'not_found');
    const methods = [...endpoint.methods, ...(endpoint.isScriptable ? ['OPTIONS'] : [])];
    if (!methods.includes(ctx.method)) {
      ctx.set('Allow', methods.join(', '));
      throw new Refusal(405, 'invalid_request', 'that method is not served here');
    }
    if (endpoint.isScriptable) ctx.set(scriptableHeaders(String(ctx.state['requestId'])));
    ctx.req.url = `${path}${search}`;
    // The engine finds its mount path from these two.
    Object.assign(ctx.req, { originalUrl: `${prefix}${path}${search}` });
  }

  return async function guard(ctx, next) {
    try {
      admit(ctx);
      await next();
    } finally {
      closeUnread(ctx);
    }
  };
}

/** Koa can't parse some targets that Node.js accepts, such as `http://[`. `admitRequests` refuses what replaces them. */
export const replaceUnreadable: Middleware = (ctx, next) => {
  try {
    void ctx.path;
  } catch {
    ctx.req.url = 'unreadable';
  }
  return next();
};

/**
 * RFC 9112 §3.2: 400 for no Host, for several and for one that isn't a host. Nothing here is built from it, but of two
 * headers, a proxy in front may read the other one.
 */
export function hasOneHost({ rawHeaders }: IncomingMessage): boolean {
  const isHost = (_text: string, at: number) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === 'host';
  const [host = '', ...others] = rawHeaders.filter(isHost);
  return others.length === 0 && HOST.test(host);
}

/** Returns the path below the issuer. Both forms of the well-known addresses are ours (RFC 8414 §3.1, OIDC Discovery §4). */
export function ownPath(path: string, prefix: string): string | undefined {
  if (prefix === '') return path;
  const wellKnown = WELL_KNOWN.find((known) => path === `${known}${prefix}`);
  if (wellKnown !== undefined) return wellKnown;
  return path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : undefined;
}
