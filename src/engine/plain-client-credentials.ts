// The short way for the commonest request of all: a plain, correct client_credentials request. It only says yes; whatever
// is unusual or wrong goes to the engine untouched, so no refusal, status or header is written twice. The engine's own
// answer is the reference, and test/flow/plain-client-credentials.test.ts compares the two.
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { parse, type ParsedUrlQuery } from 'node:querystring';
import type { Context, Middleware } from 'koa';
import type { Client } from '../config/config.ts';
import { ENDPOINTS } from '../config/endpoints.ts';
import type { Clock } from '../store/store.ts';
import type { Audit } from '../telemetry/audit.ts';
import type { AccessTokens } from '../tokens/access-token.ts';
import type { AudienceRules } from '../tokens/audience.ts';
import { recordIssued } from './audit-trail.ts';
import type { SecretComparison } from './client-authentication.ts';

const FORM = 'application/x-www-form-urlencoded';
const FIELDS = new Set(['grant_type', 'scope', 'client_id', 'client_secret']);
const MAX_BYTES = 4096;
/** As the engine's own token ids: 256 bits. */
const TOKEN_ID_BYTES = 32;

export type PlainClientCredentialsParts = {
  readonly findClient: (clientId: string) => Client | undefined;
  readonly secrets: SecretComparison;
  readonly tokens: AccessTokens;
  readonly audiences: AudienceRules;
  readonly now: Clock;
  readonly audit: Audit;
};

type Credentials = { readonly clientId: string; readonly secret: string };

export function plainClientCredentials(parts: PlainClientCredentialsParts): Middleware {
  const { findClient, secrets, tokens, audiences, now, audit } = parts;

  /** The client and its scopes, when everything about the request is plain and right. */
  async function accept(ctx: Context) {
    const form = ctx.method === 'POST' && ctx.url === ENDPOINTS.token ? peekForm(ctx) : undefined;
    const credentials = form && credentialsOf(ctx, form);
    if (credentials === undefined) return undefined;
    const { clientId, secret } = credentials;
    const client = findClient(clientId);
    const scopes = client && grantableScopes(client, form?.['scope']);
    if (client === undefined || scopes === undefined) return undefined;
    // A secret that is wrong, or slow to compare, is the engine's to refuse, and is counted there.
    const request = { endpoint: 'token', address: String(ctx.state['clientAddress'] ?? '') } as const;
    return (await secrets.comparePlain(request, client, secret)) ? { clientId, scopes } : undefined;
  }

  return async function answerPlainClientCredentials(ctx, next) {
    const accepted = await accept(ctx);
    if (accepted === undefined) return next();
    const { clientId, scopes } = accepted;
    const scope = scopes.length > 0 ? scopes.join(' ') : undefined;
    const audience = audiences.audienceOf(scopes);
    const lifetime = audiences.lifetimeOf(audience);
    const iat = Math.floor(now() / 1000);
    const jti = randomBytes(TOKEN_ID_BYTES).toString('base64url');
    const jwt = await tokens.sign({
      sub: clientId,
      aud: audience,
      exp: iat + lifetime,
      iat,
      jti,
      client_id: clientId,
      scope,
    });
    recordIssued(audit, ctx.state, { clientId, grantType: 'client_credentials', scope, tokenId: jti });
    // RFC 6749 §5.1
    ctx.set('Cache-Control', 'no-store');
    ctx.set('Pragma', 'no-cache');
    ctx.body = { access_token: jwt, expires_in: lifetime, scope, token_type: 'Bearer' };
    return undefined;
  };
}

/** The form, when it is whole already and holds the plain fields only, each once. The request is left as it was. */
function peekForm(ctx: Context): ParsedUrlQuery | undefined {
  const { headers } = ctx.req;
  const length = Number(headers['content-length']);
  const isPlain =
    headers.origin === undefined &&
    headers['content-type'] === FORM &&
    headers['transfer-encoding'] === undefined &&
    length > 0 &&
    length <= MAX_BYTES;
  const body = isPlain ? peek(ctx.req) : undefined;
  if (body?.length !== length) return undefined;
  const form = parse(body.toString('utf8'));
  const isKnown = Object.entries(form).every(
    ([name, value]) => FIELDS.has(name) && typeof value === 'string',
  );
  return isKnown && form['grant_type'] === 'client_credentials' ? form : undefined;
}

/** In one synchronous step, so that nobody else sees the stream in between. */
function peek(request: IncomingMessage): Buffer | undefined {
  const chunk = request.read() as Buffer | null;
  if (chunk === null) return undefined;
  request.unshift(chunk);
  return chunk;
}

/** One way of authenticating, without any need of decoding (RFC 6749 §2.3.1). */
function credentialsOf(ctx: Context, form: ParsedUrlQuery): Credentials | undefined {
  const { client_id: clientId, client_secret: secret } = form;
  const { authorization } = ctx.req.headers;
  if (authorization === undefined) {
    return typeof clientId === 'string' && typeof secret === 'string' ? { clientId, secret } : undefined;
  }
  const credentials = secret === undefined ? basicCredentials(authorization) : undefined;
  return clientId === undefined || clientId === credentials?.clientId ? credentials : undefined;
}

function basicCredentials(authorization: string): Credentials | undefined {
  if (!authorization.startsWith('Basic ')) return undefined;
  const encoded = authorization.slice('Basic '.length);
  const decoded = Buffer.from(encoded, 'base64').toString('latin1');
  const colon = decoded.indexOf(':');
  // What `%`, `+` and other encodings mean, and what a decoder forgives, is the engine's to say.
  const isPlain = /^[\x20-\x24\x26-\x2a\x2c-\x7e]+$/.test(decoded) && btoa(decoded) === encoded;
  if (!isPlain || colon < 1) return undefined;
  return { clientId: decoded.slice(0, colon), secret: decoded.slice(colon + 1) };
}

/** The requested scopes, each one the client's own and named once; undefined when the engine has something to say. */
function grantableScopes(
  { scopes, grantTypes, tokenEndpointAuthMethod }: Client,
  requested: string | string[] | undefined,
): readonly string[] | undefined {
  if (tokenEndpointAuthMethod === 'none' || !grantTypes.includes('client_credentials')) return undefined;
  if (requested === undefined) return [];
  if (typeof requested !== 'string') return undefined;
  const names = requested.split(' ');
  const isPlain = names.every((name) => scopes.includes(name)) && new Set(names).size === names.length;
  return isPlain ? names : undefined;
}
