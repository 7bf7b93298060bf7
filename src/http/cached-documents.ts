// Discovery and JWKS for the plain GET that nearly everybody sends, answered in front of Koa as the middleware list last
// answered it. Owns what is plain and what is kept; makes no header and no body itself. Any other request, and the first
// one of each engine instance, goes through the list.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Middleware } from 'koa';
import type { Metrics } from '../observability/metrics.ts';
import { type Caching, CACHEABLE } from './caching.ts';
import { hasOneHost, REQUEST_ID } from './edge.ts';
import { headOf, type List } from './list.ts';
import { routeName } from './route-name.ts';
import { MAX_HEADERS, SINGLE_HEADERS } from './sizes.ts';

export type ReadyDocumentsParts = Caching & {
  readonly metrics: Pick<Metrics, 'request'>;
  /** True: somebody follows each request through the list, in the log or in a trace. */
  readonly isFollowed: () => boolean;
};

type Answer = {
  readonly source: object;
  readonly path: string;
  readonly route: string;
  /** Names and values in turn, as they went out. */
  readonly head: readonly string[];
  readonly body: string;
};

/** A request that has one of these may get another answer than the rest: CORS, 304, a body, a header sent twice. */
const TELLING = new Set([...SINGLE_HEADERS, 'if-none-match', 'content-length', 'transfer-encoding']);
export interface ReadyDocuments {
  /** The first of the list: keeps the answers that the list gives. */
  readonly keep: Middleware;
  /** Answers what it can, and hands the rest to the list. */
  readonly inFrontOf: (list: List) => RequestListener;
}

export function createReadyDocuments(parts: ReadyDocumentsParts): ReadyDocuments {
  const { source, cacheControl, metrics, isFollowed } = parts;
  /** By request target, as the list accepted it: there are five at most. */
  const answers = new Map<string, Answer>();

  function answer(response: ServerResponse, { path, route, head, body }: Answer): void {
    const startedAt = performance.now();
    const own = [...head];
    own[own.indexOf(REQUEST_ID) + 1] = randomUUID();
    own[own.indexOf('Cache-Control') + 1] = cacheControl(path);
    response.writeHead(200, own);
    response.end(body);
    metrics.request(route, 200, (performance.now() - startedAt) / 1000);
  }

  async function keepAnswer(...[ctx, next]: Parameters<Middleware>): Promise<void> {
    const asked = source();
    await next();
    const { path, status, body, res } = ctx;
    if (status !== 200 || !CACHEABLE.has(path) || typeof body !== 'string') return;
    // What was asked in between two instances is nobody's.
    const head = source() === asked ? headOf(res) : undefined;
    if (head === undefined) return;
    answers.set(ctx.originalUrl, { source: asked, path, route: routeName(ctx), head, body });
  }

  return {
    keep: (ctx, next) => (isPlain(ctx.req) ? keepAnswer(ctx, next) : next()),
    inFrontOf: (list) =>
      function answerPlain(request, response) {
        const ready = answers.get(request.url ?? '');
        if (ready?.source !== source() || !isPlain(request) || isFollowed()) void list(request, response);
        else answer(response, ready);
      },
  };
}

/** Of requests for one and the same target, all that are plain get the same answer. */
function isPlain(request: IncomingMessage): boolean {
  const { method, url = '', rawHeaders } = request;
  if (method !== 'GET' || url.includes('?') || rawHeaders.length / 2 > MAX_HEADERS) return false;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (TELLING.has(String(rawHeaders[index]).toLowerCase())) return false;
  }
  return hasOneHost(request);
}
