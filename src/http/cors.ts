// Cross-origin access by allowlist, before the engine, which would allow all origins. Exact origins,
// never credentials, nothing on pages.
import type { Context, Middleware } from 'koa';
import { findEndpoint } from '../config/endpoints.ts';

const PREFLIGHT_SECONDS = 600;

export function allowOrigins(allowed: readonly string[]): Middleware {
  return async function allowOrigin(ctx, next) {
    const isPreflight = ctx.method === 'OPTIONS';
    try {
      if (isPreflight) ctx.status = 204;
      else await next();
    } finally {
      // Also set for errors, so that a script can read the reason.
      removeCorsHeaders(ctx);
      const origin = findEndpoint(ctx.path)?.isScriptable === true ? ctx.get('Origin') : '';
      if (allowed.includes(origin)) allow(ctx, origin, isPreflight);
    }
  };
}

function allow(ctx: Context, origin: string, isPreflight: boolean): void {
  ctx.set('Access-Control-Allow-Origin', origin);
  if (!isPreflight) {
    ctx.set('Access-Control-Expose-Headers', 'Retry-After, WWW-Authenticate');
    return;
  }
  ctx.set({
    'Access-Control-Allow-Methods': 'GET, POST',
    'Access-Control-Allow-Headers': 'Authorization, Content-Type',
    'Access-Control-Max-Age': String(PREFLIGHT_SECONDS),
  });
}

/** Removes the engine's own headers, which reflect any origin. */
function removeCorsHeaders(ctx: Context): void {
  for (const name of ctx.res.getHeaderNames()) if (name.startsWith('access-control-')) ctx.remove(name);
}
