// One line for each request at level debug: method, route, status, time. Never a path, a query, a body or a header.
import type { Middleware } from 'koa';
import type { Log } from '../telemetry/log.ts';
import { routeName } from './route-name.ts';

export function requestLog(log: Log): Middleware {
  return async function logRequest(ctx, next) {
    if (!log.isLevelEnabled('debug')) return next();
    const started = performance.now();
    try {
      return await next();
    } finally {
      log.debug(
        {
          requestId: ctx.state['requestId'],
          method: ctx.method,
          route: routeName(ctx),
          status: ctx.status,
          ms: Math.round(performance.now() - started),
        },
        'request',
      );
    }
  };
}
