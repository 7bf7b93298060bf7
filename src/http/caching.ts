// Discovery and JWKS may be kept by whoever reads them: the same body for every caller, with an ETag and 304
// (RFC 9110 §13). Nothing else is cacheable.
import { createHash } from 'node:crypto';
import type { Middleware } from 'koa';
import { ENDPOINTS } from '../config/endpoints.ts';

const CACHEABLE = new Set<string>([ENDPOINTS.discovery, ENDPOINTS.metadata, ENDPOINTS.jwks]);

/** `maxAge` in seconds. */
export function caching(maxAge: number): Middleware {
  return async function allowCaching(ctx, next) {
    await next();
    if (!CACHEABLE.has(ctx.path) || ctx.status !== 200 || ctx.method === 'OPTIONS') return;
    const type = ctx.type;
    const text = typeof ctx.body === 'string' ? ctx.body : JSON.stringify(ctx.body);
    ctx.body = text;
    ctx.type = type;
    ctx.set('Cache-Control', `public, max-age=${maxAge}, must-revalidate`);
    ctx.etag = createHash('sha256').update(text).digest('base64url');
    if (ctx.fresh) ctx.status = 304;
  };
}
