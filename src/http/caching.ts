// Discovery and JWKS may be kept by whoever reads them: the same body for every caller, with an ETag and 304
// (RFC 9110 §13). Rendered once for each engine instance and then served from memory. Nothing else is cacheable.
import { createHash } from 'node:crypto';
import type { Context, Middleware } from 'koa';
import { ENDPOINTS } from '../config/endpoints.ts';

const CACHEABLE = new Set<string>([ENDPOINTS.discovery, ENDPOINTS.metadata, ENDPOINTS.jwks]);

export type CachingParts = {
  /** Whoever answers now. Another object answers something else. */
  readonly source: () => object;
  /** In seconds. `jwks` is asked for each answer: it is less for a while after a key was compromised. */
  readonly maxAges: { readonly discovery: number; readonly jwks: () => number };
};

type Rendered = {
  readonly source: object;
  readonly body: string;
  readonly type: string;
  readonly etag: string;
};

export function caching({ source, maxAges }: CachingParts): Middleware {
  const rendered = new Map<string, Rendered>();

  function send(ctx: Context, { body, type, etag }: Rendered): void {
    ctx.status = 200;
    ctx.body = body;
    ctx.type = type;
    const maxAge = ctx.path === ENDPOINTS.jwks ? maxAges.jwks() : maxAges.discovery;
    ctx.set('Cache-Control', `public, max-age=${maxAge}, must-revalidate`);
    ctx.etag = etag;
    if (ctx.fresh) ctx.status = 304;
  }

  return async function serveCacheable(ctx, next) {
    if (!CACHEABLE.has(ctx.path) || ctx.method === 'OPTIONS') return next();
    const current = source();
    let answer = rendered.get(ctx.path);
    if (answer?.source !== current) {
      await next();
      if (ctx.status !== 200) return undefined;
      const body = JSON.stringify(ctx.body);
      const etag = createHash('sha256').update(body).digest('base64url');
      answer = { source: current, body, type: ctx.type, etag };
      // A HEAD is answered from the same rendering, but the engine made none for it.
      if (ctx.method === 'GET') rendered.set(ctx.path, answer);
    }
    return send(ctx, answer);
  };
}
