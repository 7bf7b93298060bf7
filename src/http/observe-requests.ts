// Measures and logs each request: its route and status, how long it took, and a line at level debug. Never a path, a query,
// a body or a header.
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
      // The reason, where the service itself didn't fail.
      const { cause } = ctx.state;
      const labels = { route, status, ...(typeof cause === 'string' && { cause }) };
      metrics.observe('http_request', startedAt, labels);
      // A request that was rejected early has no id yet.
      const requestId: unknown = ctx.state['requestId'];
      if (log.isLevelEnabled('debug'))
        log.debug({ requestId, method, route, status, ms: Math.round(ms) }, 'request');
    }
  };
}
