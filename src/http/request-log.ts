// One line for each request at level debug: method, route, status, time. Never a path, a query, a body or a header.
import type { Middleware } from 'koa';
import type { Log } from '../observability/log.ts';
import { routeName } from './route-name.ts';

export function requestLog(log: Log): Middleware {
  return async function logRequest(ctx, next) {
    if (!log.isLevelEnabled('debug')) return next();
    const startedAt = performance.now();
    try {
      return await next();
    } finally {
      const { method, status, state } = ctx;
      logAnswer(log, { requestId: state['requestId'], method, route: routeName(ctx), status, startedAt });
    }
  };
}

export type Answered = {
  /** None for a request that was refused before it got one. */
  readonly requestId: unknown;
  readonly method: string;
  readonly route: string;
  readonly status: number;
  /** By performance.now(). */
  readonly startedAt: number;
};

export function logAnswer(log: Log, { startedAt, ...request }: Answered): void {
  log.debug({ ...request, ms: Math.round(performance.now() - startedAt) }, 'request');
}
