// Errors of code in front of the middleware list, which answers them (429, 503).
import type { IncomingMessage } from 'node:http';
import type { Middleware } from 'koa';

export const FRONT_ERRORS = new WeakMap<IncomingMessage, unknown>();

export const throwFrontErrors: Middleware = (ctx, next) => {
  if (FRONT_ERRORS.has(ctx.req)) throw FRONT_ERRORS.get(ctx.req);
  return next();
};
