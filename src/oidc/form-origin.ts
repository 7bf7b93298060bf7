// Where a form or a link comes from, as the browser itself says.
import type { Context, Middleware } from 'koa';
import { findEndpoint } from '../config/endpoints.ts';
import { FormRefusal } from '../views/refusal.ts';

/** Of this site or the user, and for a window. */
export const isOwnNavigation = (ctx: Pick<Context, 'get'>): boolean =>
  ['', 'same-origin', 'none'].includes(ctx.get('Sec-Fetch-Site')) &&
  ['', 'document'].includes(ctx.get('Sec-Fetch-Dest'));

/** OWASP CSRF "verifying origin". What any site may send has become a query by now (http/form-as-query.ts). */
export function refuseForeignForms(issuer: string): Middleware {
  const { origin: own } = new URL(issuer);
  return function refuseForeignForm(ctx, next) {
    if (ctx.method === 'POST' && findEndpoint(ctx.path)?.caller === 'person') {
      const isForeign = !['', own].includes(ctx.get('Origin'));
      if (isForeign || !isOwnNavigation(ctx))
        throw new FormRefusal('origin', 'the form was not sent from this site');
    }
    return next();
  };
}
