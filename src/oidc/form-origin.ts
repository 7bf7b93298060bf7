// Where a form or a link comes from, as the browser itself says.
import type { Context, Middleware } from 'koa';
import { findEndpoint } from '../config/endpoints.ts';
import { FormRefusal } from '../views/refusal.ts';

/** Of this site or the user, and for a window. */
export const isOwnNavigation = (ctx: Pick<Context, 'get'>): boolean =>
  ['', 'same-origin', 'none'].includes(ctx.get('Sec-Fetch-Site')) &&
  ['', 'document'].includes(ctx.get('Sec-Fetch-Dest'));

/** OWASP CSRF "verifying origin": what the browser itself says about where a form comes from. */
export function refuseForeignForm(ctx: Context, issuer: string): void {
  const origin = ctx.get('Origin');
  const isForeign = origin !== '' && origin !== new URL(issuer).origin;
  if (isForeign || !isOwnNavigation(ctx)) {
    throw new FormRefusal('origin', 'the form was not sent from this site');
  }
}

export function guardEngineForms(issuer: string): Middleware {
  return function guardEngineForm(ctx, next) {
    if (ctx.method === 'POST' && findEndpoint(ctx.path)?.isEngineForm === true)
      refuseForeignForm(ctx, issuer);
    return next();
  };
}
