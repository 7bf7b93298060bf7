// An issuer on this machine has several names, and cookies belong to one of them: a page that is asked for by 127.0.0.1 where the
// issuer is localhost would begin a sign-in that can't end.
import type { Middleware } from 'koa';
import { findEndpoint } from '../config/endpoints.ts';
import { isLoopbackHost } from '../config/uri.ts';

/** Sends the browser that asks for a page by another name of this machine to the issuer's. Programs are answered by any name. */
export function sendPagesToOwnHost(issuer: string): Middleware {
  const { hostname, origin } = new URL(issuer);
  if (!isLoopbackHost(hostname)) return (_ctx, next) => next();

  return async function sendPage(ctx, next) {
    const isPage = ctx.method === 'GET' && findEndpoint(ctx.path)?.caller === 'person';
    // Of programs, and so of most requests, the host isn't even parsed.
    const asked = isPage ? URL.parse(`http://${ctx.req.headers.host}`)?.hostname : undefined;
    if (asked === undefined || asked === hostname || !isLoopbackHost(asked)) {
      await next();
      return;
    }
    ctx.status = 303;
    ctx.set('Cache-Control', 'no-store');
    ctx.redirect(`${origin}${ctx.originalUrl}`);
  };
}
