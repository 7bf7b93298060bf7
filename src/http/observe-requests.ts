// What is measured and logged of each request: how many by route and status, how long each took, and a line at level debug.
// Never a path, a query, a body or a header.
import type { Middleware } from 'koa';
import type { Telemetry } from '../observability/telemetry.ts';
import { routeName } from './route-name.ts';

export function observeRequests({ metrics, log }: Telemetry): Middleware {
  return async function observeRequest(ctx, next) {
    const startedAt = performance.now();
    try {
      await next();
    } finally {
      const ms = performance.now() - startedAt;
      const { method, status } = ctx;
      const route = routeName(ctx);
      // Why, where a failure isn't the service's own.
      const { cause } = ctx.state;
      const labels = { route, status, ...(typeof cause === 'string' && { cause }) };
      metrics.observe('http_request', startedAt, labels);
      // A request that was refused early has no id yet.
      const requestId: unknown = ctx.state['requestId'];
      if (log.isLevelEnabled('debug'))
        log.debug({ requestId, method, route, status, ms: Math.round(ms) }, 'request');
    }
  };
}
