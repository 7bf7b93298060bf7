// Redirects authorization and sign-out requests that come as a form (OIDC Core §3.1.2.1, RP-Initiated Logout §2) to the same request by
// GET: the engine serves POST only with SameSite=None cookies, and browsers send ours after a redirect.
import type { Middleware } from 'koa';
import { ENDPOINTS } from '../config/endpoints.ts';
import { readFields } from '../interaction/form.ts';
import { seeOther } from '../oidc/send-page.ts';
import { Refusal } from '../views/refusal.ts';
import { MAX_QUERY_BYTES } from './malformed.ts';

const PATHS = new Set<string>([ENDPOINTS.authorization, ENDPOINTS.logout]);

export function sendFormsAsQuery(issuer: string): Middleware {
  return async function sendFormAsQuery(ctx, next) {
    if (ctx.method !== 'POST' || !PATHS.has(ctx.path)) return next();
    const query = (await readFields(ctx)).toString();
    // Encoding makes characters outside ASCII longer.
    if (query.length > MAX_QUERY_BYTES) throw new Refusal(413, 'invalid_request', 'the form is too large');
    ctx.set('Cache-Control', 'no-store');
    // RFC 9110 §15.4.4: 303 makes it a GET in every browser.
    return seeOther(ctx, `${issuer}${ctx.path}?${query}`);
  };
}
