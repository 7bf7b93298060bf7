// Where a form comes from, as the browser itself says.
import type { Context, Middleware } from 'koa';
import { DEVICE_PATH, ENDPOINTS } from '../config/endpoints.ts';
import { FormRefusal } from '../views/refusal.ts';

/** Of the engine's own pages. They have a secret of the session, and know no origin. */
const ENGINE_FORMS = new Set<string>([DEVICE_PATH, `${ENDPOINTS.logout}/confirm`]);

/** OWASP CSRF "verifying origin": what the browser itself says about where a form comes from. */
export function refuseForeignForm(ctx: Context, issuer: string): void {
  const origin = ctx.get('Origin');
  const isForeign = origin !== '' && origin !== new URL(issuer).origin;
  if (isForeign || !['', 'same-origin', 'none'].includes(ctx.get('Sec-Fetch-Site'))) {
    throw new FormRefusal('origin', 'the form was not sent from this site');
  }
}

export function guardEngineForms(issuer: string): Middleware {
  return function guardEngineForm(ctx, next) {
    if (ctx.method === 'POST' && ENGINE_FORMS.has(ctx.path)) refuseForeignForm(ctx, issuer);
    return next();
  };
}
