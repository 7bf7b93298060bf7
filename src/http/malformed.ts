// Rejects requests before they are parsed, compared or stored: headers, queries and bodies that are too large or ambiguous, and
// credentials with control bytes. Requests of honest clients stay far below these limits.
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { Context, Middleware } from 'koa';
import { ENDPOINTS, findEndpoint } from '../config/endpoints.ts';
import { Refusal } from '../views/refusal.ts';

/** Node itself refuses heads over 16 KiB with 431. */
const MAX_HEADERS = 100;
export const MAX_QUERY_BYTES = 12 * 1024;
const MAX_PARAMETERS = 100;
/** The engine's own limit, and more than any grant or token needs. */
const MAX_BODY_BYTES = 56 * 1024;
/** For parameters that are stored with the sign-in. Tokens, `state` and `nonce` may be longer. */
const MAX_LENGTH = 1024;
/** Ignored if too long, as OIDC Core §3.1.2.1 allows. */
const HINTS = ['acr_values', 'claims_locales', 'display', 'login_hint', 'ui_locales'];
const REQUESTS = ['claims', 'prompt'];
/** If a header occurs twice, a proxy may read the other one. */
const SINGLE_HEADERS: ReadonlySet<string> = new Set(['authorization', 'content-type', 'origin']);
const AMPERSAND = 38;
const BASIC = /^basic ([A-Za-z0-9+/]+={0,2})$/i;
/** RFC 6749 Appendix A allows no control characters in an id or a secret. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f]|%[01][\da-f]|%7f/i;

export function refuseMalformed(issuer: string): Middleware {
  return function refuse(ctx, next) {
    const fault = headerFault(ctx.req);
    if (fault) throw fault;
    refuseQuery(ctx);
    if (ctx.method === 'POST') limitBody(ctx);
    if (findEndpoint(ctx.path)?.caller === 'client') refuseControlBytes(ctx, issuer);
    return next();
  };
}

/** 401 as for any other wrong secret (RFC 6749 §5.2). A comparison that pads with NUL would take `secret%00` for `secret`. */
function refuseControlBytes(ctx: Context, issuer: string): void {
  const encoded = BASIC.exec(ctx.get('Authorization'))?.[1];
  if (encoded === undefined || !CONTROL.test(Buffer.from(encoded, 'base64').toString('latin1'))) return;
  ctx.set('WWW-Authenticate', `Basic realm="${issuer}"`);
  ctx.set('Pragma', 'no-cache');
  throw new Refusal(401, 'invalid_client', 'client authentication failed');
}

/** Closes the connection with the response if the body is too long, because it isn't read to its end. */
export function closeUnread(ctx: Context): void {
  const { complete, headers } = ctx.req;
  const isEndless = headers['transfer-encoding'] !== undefined || isTooLong(ctx.req);
  if (!complete && isEndless) ctx.set('Connection', 'close');
}

/** Finds faults of the headers that don't depend on their meaning. */
export function headerFault({ rawHeaders }: IncomingMessage): Refusal | undefined {
  if (rawHeaders.length / 2 > MAX_HEADERS) {
    return new Refusal(431, 'invalid_request', 'the request has too many headers');
  }
  const seen = new Set<string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = String(rawHeaders[index]).toLowerCase();
    if (!SINGLE_HEADERS.has(name)) continue;
    if (seen.has(name)) return new Refusal(400, 'invalid_request', 'a header was sent twice');
    seen.add(name);
  }
  return undefined;
}

function refuseQuery(ctx: Context): void {
  const query = ctx.querystring;
  if (query.length > MAX_QUERY_BYTES || query.split('&', MAX_PARAMETERS + 1).length > MAX_PARAMETERS) {
    throw new Refusal(400, 'invalid_request', 'the request has too many parameters');
  }
  if (ctx.path !== ENDPOINTS.authorization) return;
  const isLong = (name: string) => [ctx.query[name]].flat().join('').length > MAX_LENGTH;
  if (REQUESTS.some(isLong)) throw new Refusal(400, 'invalid_request', 'a parameter is too long');
  const ignored = new Set(HINTS.filter(isLong));
  if (ignored.size === 0) return;
  ctx.query = Object.fromEntries(Object.entries(ctx.query).filter(([name]) => !ignored.has(name)));
}

const isTooLong = ({ headers }: IncomingMessage, most = MAX_BODY_BYTES) =>
  Number(headers['content-length'] ?? 0) > most;

const tooLarge = () => new Refusal(413, 'invalid_request', 'the form is too large');

/** Counts what the engine reads of a body, by `iterator`. The engine has its own limit, which it answers with 400. */
function limitBody(ctx: Context): void {
  const { maxBytes: most = MAX_BODY_BYTES } = findEndpoint(ctx.path) ?? {};
  if (isTooLong(ctx.req, most)) throw tooLarge();
  const { req } = ctx;
  const iterate = req.iterator.bind(req);
  req.iterator = async function* limited(options: Parameters<Readable['iterator']>[0]) {
    let [bytes, parameters] = [0, 1];
    for await (const chunk of iterate(options) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      for (const byte of chunk) if (byte === AMPERSAND) parameters += 1;
      if (bytes > most || parameters > MAX_PARAMETERS) {
        // The engine turns every failure to read into its own answer; this one is ours.
        ctx.state['fault'] = tooLarge();
        throw ctx.state['fault'];
      }
      yield chunk;
    }
  } as Readable['iterator'];
}
