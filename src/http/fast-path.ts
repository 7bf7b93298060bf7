// The requests that machines send all day long, answered in front of Koa: the engine's short ways. Owns what is plain about a
// request's head, and what the list would have done around the answer: the headers, the measure. The
// headers are those that the list itself last gave to such a request, so none is written here; whatever isn't plain, or isn't
// answered with yes, goes through the list.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Middleware } from 'koa';
import type { Engine } from '../oidc/provider.ts';
import { announcesForm } from '../oidc/fast/plain-form.ts';
import type { RequestState, ShortWay } from '../oidc/fast/fast-answer.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import { isTracing } from '../observability/trace.ts';
import type { ClientAddress } from './client-address.ts';
import { hasOneHost, REQUEST_ID } from './edge.ts';
import { headOf, type List } from './list.ts';
import { logAnswer } from './request-log.ts';
import { routeName } from './route-name.ts';
import { headerFault } from './sizes.ts';

export type ShortWaysParts = {
  readonly issuer: string;
  readonly engine: () => Pick<Engine, 'shortWays'>;
  readonly clientAddress: ClientAddress;
  readonly metrics: Pick<Metrics, 'request'>;
  readonly log: Log;
};

/** Names and values in turn; all but the length. */
type Head = readonly string[];

export interface ShortWays {
  /** The first of the list: learns the headers of the answers that it gives. */
  readonly learn: Middleware;
  /** Where the list counts addresses: what a short way counted and then could not do is not counted again. */
  readonly resume: Middleware;
  /** Answers what it can, and hands the rest to the list. */
  readonly inFrontOf: (list: List) => List;
}

export function createShortWays(parts: ShortWaysParts): ShortWays {
  const { engine, clientAddress, metrics, log } = parts;
  const prefix = new URL(parts.issuer).pathname.replace(/\/$/, '');
  const heads = createHeads(engine);
  const failures = new WeakMap<IncomingMessage, unknown>();

  function wayOf(request: IncomingMessage): readonly [path: string, way: ShortWay] | undefined {
    const { method, url = '' } = request;
    if (method !== 'POST' || !url.startsWith(prefix)) return undefined;
    const path = url.slice(prefix.length);
    const way = engine().shortWays.get(path);
    // A trace follows a request through the list.
    if (way === undefined || isTracing()) return undefined;
    const isPlain = announcesForm(request) && headerFault(request) === undefined && hasOneHost(request);
    return isPlain ? [path, way] : undefined;
  }

  /** False: the list has to. */
  async function answer(path: string, way: ShortWay, request: IncomingMessage, response: ServerResponse) {
    const startedAt = performance.now();
    const from = engine();
    const { socket, headers } = request;
    if (socket.remoteAddress === undefined) return false;
    const address = clientAddress(socket.remoteAddress, headers['x-forwarded-for']?.toString());
    const state = { requestId: randomUUID(), clientAddress: address };
    try {
      const answering = await way(request, state);
      if (answering === undefined) return false;
      const head = heads.find(path, from);
      if (head === undefined) {
        heads.learnFrom(request);
        return false;
      }
      send(response, head, state, await answering());
    } catch (error) {
      failures.set(request, error);
      return false;
    }
    const [route, status] = [routeName({ path, status: 200 }), 200];
    metrics.request(route, status, (performance.now() - startedAt) / 1000);
    if (log.isLevelEnabled('debug')) {
      logAnswer(log, { requestId: state.requestId, method: 'POST', route, status, startedAt });
    }
    return true;
  }

  return {
    learn: heads.learn,
    resume(ctx, next) {
      if (failures.has(ctx.req)) throw failures.get(ctx.req);
      return next();
    },
    inFrontOf: (list) =>
      async function answerShortly(request, response) {
        const found = wayOf(request);
        if (found !== undefined) {
          await beginningOfBody(request);
          if (await answer(...found, request, response)) return;
        }
        await list(request, response);
      },
  };
}

/** A body is in one packet with its head, or a moment behind it. Resolves as well when there will be none. */
async function beginningOfBody(request: IncomingMessage): Promise<void> {
  // Not before whoever was told of the head has returned.
  await Promise.resolve();
  if (request.readableLength > 0 || request.complete || request.destroyed) return;
  await new Promise<void>((resolve) => {
    function done(): void {
      request.off('readable', done).off('close', done);
      resolve();
    }
    request.on('readable', done).on('close', done);
  });
}

/** The headers of an answer for each path below the issuer, as the list last sent them; those of another engine are unknown. */
function createHeads(engine: ShortWaysParts['engine']) {
  const known = new Map<string, { readonly from: object; readonly head: Head }>();
  /** Requests that a short way would have answered with yes. */
  const exemplary = new WeakSet<IncomingMessage>();
  const learn: Middleware = async (ctx, next) => {
    const from = engine();
    await next();
    if (!exemplary.has(ctx.req) || ctx.status !== 200 || engine() !== from) return;
    const head = headOf(ctx.res);
    if (head !== undefined) known.set(ctx.path, { from, head });
  };
  return {
    learn,
    learnFrom: (request: IncomingMessage) => exemplary.add(request),
    find(path: string, from: object): Head | undefined {
      const found = known.get(path);
      return found?.from === from ? found.head : undefined;
    },
  };
}

function send(response: ServerResponse, head: Head, { requestId }: RequestState, answer: object): void {
  const body = JSON.stringify(answer);
  const length = String(Buffer.byteLength(body));
  const own = [...head, 'Content-Length', length];
  own[own.indexOf(REQUEST_ID) + 1] = requestId;
  response.writeHead(200, own);
  response.end(body);
}
