// Answers frequent requests of machines before Koa: discovery, JWKS, machine tokens, refreshes, introspection and userinfo. Only plain
// requests that succeed; any other goes through the middleware unchanged.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { CLIENT_ANSWER_HEADERS } from '../../oidc/answers.ts';
import { type CachedDocuments, JSON_TYPE } from '../../oidc/cached-documents.ts';
import type { EngineApp } from '../../oidc/provider.ts';
import { ENDPOINTS } from '../../config/endpoints.ts';
import { createClientAddress } from '../../http/client-address.ts';
import { hasOneHost, ownPath } from '../../http/edge.ts';
import { FRONT_ERRORS } from '../../http/front-errors.ts';
import { type Headers, scriptableHeaders, securityHeaders } from '../../http/headers.ts';
import { headerFault } from '../../http/malformed.ts';
import { routeName } from '../../http/route-name.ts';
import type { PageParts } from '../page-parts.ts';
import { fastClientCredentials } from './client-credentials.ts';
import { fastIntrospection } from './introspection.ts';
import { announcesForm, type FastAnswer } from './plain-request.ts';
import { fastRefresh } from './refresh.ts';
import { announcesToken, fastUserinfo } from './userinfo.ts';

/** With one of these headers, a GET may need a different answer: CORS, a body. */
const UNUSUAL_HEADERS = new Set(['origin', 'content-length', 'transfer-encoding']);
/** With one of these headers, a condition may mean something else. */
const WITH_CONDITION = new Set(['cache-control', 'if-modified-since']);

const NOT_STORED = { 'cache-control': 'no-store' };

export const open = (): PageParts => ({ guard: { isPlain: () => true }, front });

function front(parts: EngineApp, documents: CachedDocuments): ReturnType<NonNullable<PageParts['front']>> {
  const { config, issuer, metrics, log } = parts;
  const [clientCredentials, refresh] = [fastClientCredentials(parts), fastRefresh(parts)];
  const answers = new Map<string, FastAnswer>([
    [ENDPOINTS.token, async (...args) => (await clientCredentials(...args)) ?? refresh(...args)],
    [ENDPOINTS.introspection, fastIntrospection(parts)],
    [ENDPOINTS.userinfo, fastUserinfo(parts)],
  ]);
  const clientAddress = createClientAddress(config.trustedProxies);
  const prefix = new URL(issuer).pathname.replace(/\/$/, '');
  const common = securityHeaders(issuer);
  const turnEnd = createTurnEnd();

  function createSend(path: string, response: ServerResponse, requestId: string) {
    const startedAt = performance.now();
    /** Sends a 304 if there is no body. */
    return (own: Headers, body?: string): void => {
      const status = body === undefined ? 304 : 200;
      const length = body !== undefined && { 'Content-Length': String(Buffer.byteLength(body)) };
      const all = { ...common, ...scriptableHeaders(requestId), ...own, ...length };
      response.writeHead(status, all).end(body);
      metrics.observe('http_request', startedAt, { route: routeName({ path, status }), status });
    };
  }

  /** Here and below, false leaves the unchanged request to the middleware. */
  function sendDocument(path: string, request: IncomingMessage, response: ServerResponse): boolean {
    const document = documents.find(path);
    if (!document || !isPlain(request)) return false;
    const isKnown = isKnownTo(request, document.headers['ETag']);
    if (isKnown === undefined) return false;
    const { 'Content-Type': type = '', ...kept } = document.headers;
    const send = createSend(path, response, randomUUID());
    if (isKnown) send(kept);
    else send({ 'Content-Type': type, ...kept }, document.body);
    return true;
  }

  async function sendAnswer(path: string, request: IncomingMessage, response: ServerResponse) {
    const answer = answers.get(path);
    const isGet = request.method === 'GET';
    const isUsual = isGet ? announcesToken(request) : announcesForm(request);
    if (!answer || !isUsual || !isPlain(request)) return false;
    await beginningOfBody(request);
    const { socket, headers } = request;
    const address = clientAddress(String(socket.remoteAddress), headers['x-forwarded-for']?.toString());
    const state = { requestId: randomUUID(), clientAddress: address };
    const send = createSend(path, response, state.requestId);
    try {
      const body = await answer(request, state);
      if (body === undefined) return false;
      send(
        { ...(isGet ? NOT_STORED : CLIENT_ANSWER_HEADERS), 'Content-Type': JSON_TYPE },
        JSON.stringify(body),
      );
      return true;
    } catch (error) {
      FRONT_ERRORS.set(request, error);
      return false;
    }
  }

  function answerFast(request: IncomingMessage, response: ServerResponse) {
    const path = ownPath(request.url ?? '', prefix);
    // At level debug, the middleware logs each request.
    if (path === undefined || log.isLevelEnabled('debug')) return false;
    const { method = '' } = request;
    if (method === (path === ENDPOINTS.userinfo ? 'GET' : 'POST')) return sendAnswer(path, request, response);
    return (method === 'GET' || method === 'HEAD') && sendDocument(path, request, response);
  }

  return (list) =>
    async function answerOrHandOn(request, response) {
      await turnEnd();
      if (!(await answerFast(request, response))) await list(request, response);
    };
}

const isPlain = (request: IncomingMessage) => hasOneHost(request) && headerFault(request) === undefined;

/** Whether the caller has the document with this ETag (RFC 9110 §13.1.2); undefined if the middleware must answer. */
function isKnownTo({ rawHeaders }: IncomingMessage, etag: string | undefined): boolean | undefined {
  let [isKnown, isDoubtful] = [false, false];
  // `headers` would make Node parse all of them into an object first.
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? '';
    if (UNUSUAL_HEADERS.has(name)) return undefined;
    if (WITH_CONDITION.has(name)) isDoubtful = true;
    if (name !== 'if-none-match') continue;
    if (isKnown || rawHeaders[index + 1] !== etag) return undefined;
    isKnown = true;
  }
  return isKnown && isDoubtful ? undefined : isKnown;
}

/** Waits for the body, which arrives with the headers or just after them. Also resolves if there is none. */
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
 * to twice the CPU. Node.js delivers a body only after the listener has returned.
 */
function createTurnEnd(): () => Promise<void> {
  let end: Promise<void> | undefined;
  return () => (end ??= setImmediate().then(() => (end = undefined)));
}
