// Checks where a form or a link comes from, by the browser's own headers.
import type { Context, Middleware } from 'koa';
import { findEndpoint } from '../config/endpoints.ts';
import { FormRefusal } from '../views/refusal.ts';

/** Whether this site or the user started the navigation, for a whole page. */
export const isOwnNavigation = (ctx: Pick<Context, 'get'>) =>
  ['', 'same-origin', 'none'].includes(ctx.get('Sec-Fetch-Site')) &&
  ['', 'document'].includes(ctx.get('Sec-Fetch-Dest'));

/** OWASP CSRF "verifying origin". http/form-as-query.ts has already turned the forms that any site may send into queries. */
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
