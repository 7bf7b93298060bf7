// The management listener: health for whoever runs the service, and the newcomer's try-out page. Never on the public port.
import Koa from 'koa';
import type { Middleware } from 'koa';

/** Why the service isn't ready, one line each; empty when it is. */
export type Readiness = () => Promise<readonly string[]>;

/** Which configuration runs, and what is wrong with the file that was not taken over. */
export type ConfigStatus = {
  /** The same on every node that runs the same configuration. */
  readonly hash: string;
  readonly problem: string | undefined;
};

export function createManagementApp(
  readiness: Readiness,
  configStatus: () => ConfigStatus,
  tryOut: Middleware | undefined,
): Koa {
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
      const { hash, problem } = configStatus();
      ctx.body = {
        status: problems.length === 0 ? 'ready' : 'not ready',
        problems,
        // A broken file on disk does not make a running node unready; it is here to be seen.
        configuration: { hash, ...(problem !== undefined && { problem }) },
      };
      return;
    }
    await next();
  });
  if (tryOut !== undefined) app.use(tryOut);
  return app;
}
