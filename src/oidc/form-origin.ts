// Where a form comes from, as the browser itself says.
import type { Context, Middleware } from 'koa';
import { ENDPOINTS } from '../config/endpoints.ts';
import { Refusal } from '../views/refusal.ts';

/** OWASP CSRF "verifying origin": what the browser itself says about where a form comes from. */
export function refuseForeignForm(ctx: Context, issuer: string): void {
  const origin = ctx.get('Origin');
  const isForeign = origin !== '' && origin !== new URL(issuer).origin;
  if (isForeign || !['', 'same-origin', 'none'].includes(ctx.get('Sec-Fetch-Site'))) {
    throw new Refusal(403, 'forbidden', 'the form was not sent from this site');
  }
}

/** The engine's own form has a secret of the session, and knows no origin. */
export function guardSignOutForm(issuer: string): Middleware {
  return function guardForm(ctx, next) {
    if (ctx.path === `${ENDPOINTS.logout}/confirm`) refuseForeignForm(ctx, issuer);
    return next();
  };
}
