// The management listener: health for whoever runs the service, and the newcomer's try-out page. Never on the public port.
import Koa from 'koa';
import type { Middleware } from 'koa';

/** Why the service isn't ready, one line each; empty when it is. */
export type Readiness = () => Promise<readonly string[]>;

export function createManagementApp(readiness: Readiness, tryOut: Middleware | undefined): Koa {
  const app = new Koa();
  app.silent = true;

  app.use(async function answerHealth(ctx, next) {
    ctx.set('Cache-Control', 'no-store');
    if (ctx.path === '/healthz') {
      ctx.body = { status: 'ok' };
      return;
    }
    if (ctx.path === '/readyz') {
      const problems = await readiness();
      ctx.status = problems.length === 0 ? 200 : 503;
      ctx.body = { status: problems.length === 0 ? 'ready' : 'not ready', problems };
      return;
    }
    await next();
  });
  if (tryOut !== undefined) app.use(tryOut);
  return app;
}
