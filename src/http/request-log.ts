// One line for each request at level debug: method, path, status, time. Never a query, a body or a header.
import type { Middleware } from 'koa';
import { clip, type Log } from '../telemetry/log.ts';

export function requestLog(log: Log): Middleware {
  return async function logRequest(ctx, next) {
    const started = performance.now();
    try {
      await next();
    } finally {
      if (log.isLevelEnabled('debug')) {
        log.debug(
          {
            requestId: ctx.state['requestId'],
            method: ctx.method,
            path: clip(ctx.path),
            status: ctx.status,
            ms: Math.round(performance.now() - started),
          },
          'request',
        );
      }
    }
  };
}
