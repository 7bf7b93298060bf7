// Discovery and JWKS may be kept by whoever reads them: the same body for every caller, with an ETag and 304
// (RFC 9110 §13). Nothing else is cacheable.
import { createHash } from 'node:crypto';
import type { Middleware } from 'koa';
import { ENDPOINTS } from '../config/endpoints.ts';

const CACHEABLE = new Set<string>([ENDPOINTS.discovery, ENDPOINTS.metadata, ENDPOINTS.jwks]);

/** In seconds. `jwks` is asked for each answer: it is less for a while after a key was compromised. */
export type MaxAges = { readonly discovery: number; readonly jwks: () => number };

export function caching(maxAges: MaxAges): Middleware {
  return async function allowCaching(ctx, next) {
    await next();
    if (!CACHEABLE.has(ctx.path) || ctx.status !== 200 || ctx.method === 'OPTIONS') return;
    const type = ctx.type;
    const text = typeof ctx.body === 'string' ? ctx.body : JSON.stringify(ctx.body);
    ctx.body = text;
    ctx.type = type;
    const maxAge = ctx.path === ENDPOINTS.jwks ? maxAges.jwks() : maxAges.discovery;
    ctx.set('Cache-Control', `public, max-age=${maxAge}, must-revalidate`);
    ctx.etag = createHash('sha256').update(text).digest('base64url');
    if (ctx.fresh) ctx.status = 304;
  };
}
