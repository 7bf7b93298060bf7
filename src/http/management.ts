// The management listener: health and metrics for administrators. Never on the public port.
import { isIP } from 'node:net';
import Koa, { type Context, type Middleware } from 'koa';
import { METRICS_CONTENT_TYPE, type Snapshot } from '../observability/metrics.ts';
import { replaceUnreadable } from './edge.ts';

/** Which configuration runs, and what is wrong with a file that was rejected. */
export type ConfigStatus = Readonly<{
  /** Hash of the configuration, the same on every node that runs it. */
  hash: string;
  problem: string | undefined;
  /** Set if the last reload has emptied a list. */
  warning?: string | undefined;
  /** Changed settings that take effect at a restart. Absent when there are none. */
  pending?: readonly string[] | undefined;
}>;

/** The status of one process, or of all workers. */
export type Status = Readonly<{
  /** Why the service isn't ready, one line each; empty when it is. */
  problems: readonly string[];
  /** Warnings, which don't make the service unready. */
  warning?: string | undefined;
  /** `workers`: the configuration of each process; `hash` is undefined if it didn't answer. */
  configuration: ConfigStatus & {
    readonly workers?: readonly Readonly<{ pid: number | undefined; hash: string | undefined }>[];
  };
}>;

/** Returns the status as metrics. */
export function summaryOf({ problems, configuration: { hash, problem } }: Status): Snapshot {
  return [
    ['configuration_info', 1, { hash }],
    ['configuration_current', problem === undefined ? 1 : 0],
    ['ready', problems.length === 0 ? 1 : 0],
  ];
}

type ManagementParts = Readonly<{
  address: Readonly<{ host: string; hosts: readonly string[] }>;
  status: () => Promise<Status>;
  /** The text that Prometheus reads, of all processes. */
  metrics: () => Promise<string>;
  /** Middleware of features for this listener. */
  middleware?: readonly Middleware[];
}>;

export function createManagementApp({ address, status, metrics, middleware = [] }: ManagementParts): Koa {
  const app = new Koa();
  app.silent = true;
  const names = new Set(['localhost', address.host, ...address.hosts].map((name) => name.toLowerCase()));

  app.use(replaceUnreadable);
  app.use(async function answerHealth(ctx, next) {
    ctx.set('Cache-Control', 'no-store');
    const hosts = ctx.req.headersDistinct['host'] ?? [];
    // RFC 9112 §3.2.
    if (hosts.length > 1) return sendJson(ctx, 400, { error: 'several Host headers' });
    if (!ctx.path.startsWith('/')) return sendJson(ctx, 400, { error: 'the request target must be a path' });
    if (ctx.path === '/healthz') return sendJson(ctx, 200, { status: 'ok' });
    const host = hostNameOf(hosts[0]);
    // DNS rebinding: a web page whose name resolves to this address could read the answers in the browser of a user who
    // can reach it. Its requests carry that name; an IP address can't be rebound, and no browser uses HTTP/1.0.
    if (host !== undefined && isIP(host) === 0 && !names.has(host))
      return sendJson(ctx, 421, {
        error: 'the host name of this request is not in management.hosts of the configuration',
      });
    if (ctx.path === '/readyz') {
      const { problems, warning, configuration } = await status();
      const [code, said] = problems.length === 0 ? [200, 'ready'] : [503, 'not ready'];
      // A broken file on disk doesn't make a running node unready; the answer only reports it.
      return sendJson(ctx, code, { status: said, problems, warning, configuration });
    }
    if (ctx.path === '/metrics') {
      ctx.body = await metrics();
      ctx.set('Content-Type', METRICS_CONTENT_TYPE);
      return undefined;
    }
    return next();
  });
  for (const one of middleware) app.use(one);
  return app;
}

/** Sends JSON as text: for an object, Koa would look at `Response`, which loads Node's own fetch. */
function sendJson(ctx: Context, status: number, value: object): void {
  ctx.status = status;
  ctx.type = 'application/json';
  ctx.body = JSON.stringify(value);
}

/** `[::1]:3001` -> `::1`. Reads the Host header itself, because the caller can forge a forwarded host. */
function hostNameOf(header: string | undefined): string | undefined {
  return header
    ?.replace(/:\d*$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .toLowerCase();
}
