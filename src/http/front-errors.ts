// Errors of the fast path, which runs before Koa. The middleware throws them, so that errors.ts answers them (429, 503, or 500 for a bug).
import type { IncomingMessage } from 'node:http';
import type { Middleware } from 'koa';

export const FRONT_ERRORS = new WeakMap<IncomingMessage, unknown>();

export const throwFrontErrors: Middleware = (ctx, next) => {
  if (FRONT_ERRORS.has(ctx.req)) throw FRONT_ERRORS.get(ctx.req);
  return next();
};
