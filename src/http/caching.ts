// Discovery and JWKS may be kept by whoever reads them: the same body for every caller, with an ETag and 304
// (RFC 9110 §13). Rendered once for each engine instance and then served from memory. Nothing else is cacheable.
import { createHash } from 'node:crypto';
import type { Context, Middleware } from 'koa';
import { ENDPOINTS } from '../config/endpoints.ts';

export const CACHEABLE: ReadonlySet<string> = new Set([
  ENDPOINTS.discovery,
  ENDPOINTS.metadata,
  ENDPOINTS.jwks,
]);

export type Caching = {
  /** Whoever answers now. Another object answers something else. */
  readonly source: () => object;
  /** Asked for each answer: JWKS is kept less long for a while after a key was compromised. */
  readonly cacheControl: (path: string) => string;
};

/** In seconds. */
export type MaxAges = { readonly discovery: number; readonly jwks: () => number };

export function cacheControlOf(maxAges: MaxAges): Caching['cacheControl'] {
  return (path) => {
    const maxAge = path === ENDPOINTS.jwks ? maxAges.jwks() : maxAges.discovery;
    return `public, max-age=${maxAge}, must-revalidate`;
  };
}

type Rendered = {
  readonly source: object;
  readonly body: string;
  readonly type: string;
  readonly etag: string;
};

export function caching({ source, cacheControl }: Caching): Middleware {
  const rendered = new Map<string, Rendered>();

  function send(ctx: Context, { body, type, etag }: Rendered): void {
    ctx.status = 200;
    ctx.body = body;
    ctx.type = type;
    ctx.set('Cache-Control', cacheControl(ctx.path));
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
