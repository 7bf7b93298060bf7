// The requests that machines send all day, answered in front of Koa: a machine token, introspection, userinfo. It says
// yes to what is plain; any other request goes through the middleware as it came.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { CLIENT_ANSWER_HEADERS } from '../../oidc/answers.ts';
import { JSON_TYPE } from '../../oidc/cached-documents.ts';
import { ENDPOINTS } from '../../config/endpoints.ts';
import { createClientAddress } from '../../http/client-address.ts';
import { hasOneHost, ownPath } from '../../http/edge.ts';
import { scriptableHeaders, securityHeaders } from '../../http/headers.ts';
import { REFUSED } from '../../http/limit-addresses.ts';
import { headerFault } from '../../http/malformed.ts';
import { routeName } from '../../http/route-name.ts';
import type { PageParts } from '../page-parts.ts';
import { fastClientCredentials } from './client-credentials.ts';
import { fastIntrospection } from './introspection.ts';
import { announcesForm, type FastAnswer, type FastParts } from './plain-request.ts';
import { announcesToken, fastUserinfo } from './userinfo.ts';

const NOT_STORED = { 'cache-control': 'no-store' };

export const open = (): PageParts => ({ guard: { isPlain: () => true }, front });

function front(parts: FastParts): ReturnType<NonNullable<PageParts['front']>> {
  const { config, issuer, metrics, log } = parts;
  /** By path below the issuer. */
  const answers = new Map<string, FastAnswer>([
    [ENDPOINTS.token, fastClientCredentials(parts)],
    [ENDPOINTS.introspection, fastIntrospection(parts)],
    [ENDPOINTS.userinfo, fastUserinfo(parts)],
  ]);
  const clientAddress = createClientAddress(config.trustedProxies);
  const prefix = new URL(issuer).pathname.replace(/\/$/, '');
  const common = securityHeaders(issuer);
  const turnEnd = createTurnEnd();

  /** False leaves the request to the middleware as it was. */
  async function sendAnswer(path: string, request: IncomingMessage, response: ServerResponse) {
    const answer = answers.get(path);
    const isGet = request.method === 'GET';
    const isUsual = isGet ? announcesToken(request) : announcesForm(request);
    if (!answer || !isUsual || !isPlain(request)) return false;
    await beginningOfBody(request);
    const { socket, headers } = request;
    if (socket.remoteAddress === undefined) return false;
    const address = clientAddress(socket.remoteAddress, headers['x-forwarded-for']?.toString());
    const state = { requestId: randomUUID(), clientAddress: address };
    const startedAt = performance.now();
    try {
      const answered = await answer(request, state);
      if (answered === undefined) return false;
      const body = JSON.stringify(answered);
      response.writeHead(200, {
        ...common,
        ...scriptableHeaders(state.requestId),
        ...(isGet ? NOT_STORED : CLIENT_ANSWER_HEADERS),
        'Content-Type': JSON_TYPE,
        'Content-Length': String(Buffer.byteLength(body)),
      });
      response.end(body);
      metrics.request(routeName({ path, status: 200 }), 200, (performance.now() - startedAt) / 1000);
      return true;
    } catch (error) {
      REFUSED.set(request, error);
      return false;
    }
  }

  async function answerFast(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const path = ownPath(request.url ?? '', prefix);
    // At debug the log follows each request through the middleware.
    if (path === undefined || log.isLevelEnabled('debug')) return false;
    const method = path === ENDPOINTS.userinfo ? 'GET' : 'POST';
    return request.method === method && sendAnswer(path, request, response);
  }

  return (list) =>
    async function answerOrHandOn(request, response) {
      await turnEnd();
      if (!(await answerFast(request, response))) await list(request, response);
    };
}

const isPlain = (request: IncomingMessage) => hasOneHost(request) && headerFault(request) === undefined;

/** A body is in one packet with its head, or a moment behind it. Resolves as well when there will be none. */
async function beginningOfBody(request: IncomingMessage): Promise<void> {
  if (request.readableLength > 0 || request.complete || request.destroyed) return;
  await new Promise<void>((resolve) => {
    function done(): void {
      request.off('readable', done).off('close', done);
      resolve();
    }
    request.on('readable', done).on('close', done);
  });
}

/**
 * Resolves at the end of this turn of the event loop, for every request that arrived in it: reading and answering them one by one takes up
 * to twice the CPU. Node hands a body over only once the listener has returned.
 */
function createTurnEnd(): () => Promise<void> {
  let end: Promise<void> | undefined;
  return () =>
    (end ??= new Promise((resolve) => {
      setImmediate(() => {
        end = undefined;
        resolve();
      });
    }));
}
