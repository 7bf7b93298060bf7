// How many requests, by route and status, and how long each took; and a span for whoever traces.
import type { Middleware } from 'koa';
import type { Metrics } from '../observability/metrics.ts';
import { inServerSpan } from '../observability/trace.ts';
import { routeName } from './route-name.ts';

export function measureRequests(metrics: Pick<Metrics, 'request'>): Middleware {
  return async function measureRequest(ctx, next) {
    const startedAt = performance.now();
    await inServerSpan('request', ctx.req.headers, async (describe) => {
      try {
        await next();
      } finally {
        const route = routeName(ctx);
        describe({ 'http.route': route, 'http.response.status_code': ctx.status });
        metrics.request(route, ctx.status, (performance.now() - startedAt) / 1000);
      }
    });
  };
}
