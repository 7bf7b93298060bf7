// What the host changes in the engine's answers, and only that: the discovery list, 401 where the engine says 400 to a
// caller without credentials, an empty answer that is of no type, and faults that the engine swallowed into a 500.
import type { Middleware } from 'koa';
import type Provider from 'oidc-provider';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { callerOf } from '../config/endpoints.ts';
import { SPECIFICATION_SCOPES } from '../config/config.ts';
import { FOREIGN_GRANT, isForeignGrant } from './policies/foreign-grant.ts';

const DISCOVERY_ROUTES = new Set(['discovery']);

/** RFC 6749 §5.1 wants both on token answers; the other answers to clients are as private. */
export const CLIENT_ANSWER_HEADERS = { 'Cache-Control': 'no-store', Pragma: 'no-cache' } as const;

type EngineContext = KoaContextWithOIDC & { body: unknown };

/** The engine reports the real error of a `server_error` here and nowhere else. */
export function rememberFaults(provider: Provider): void {
  provider.on('server_error', (ctx, error) => {
    ctx.state['fault'] = error;
  });
}

/** Faults leave as exceptions; http/errors.ts turns them into 503, 429 or 500. */
export function adjustAnswers(issuer: string): Middleware {
  return async function adjustAnswer(ctx, next) {
    await next();
    const fault: unknown = ctx.state['fault'];
    if (fault instanceof Error) throw fault;

    const engineCtx = ctx as unknown as EngineContext;
    const route = engineCtx['_matchedRouteName'] as string | undefined;
    if (route === undefined) return;
    if (DISCOVERY_ROUTES.has(route) && ctx.status === 200) ctx.body = toDiscovery(ctx.body as Metadata);
    if (callerOf(route) === 'client') {
      if (isUnauthenticated(engineCtx)) answerUnauthenticated(engineCtx);
      if (isForeignGrant(engineCtx, errorOf(engineCtx))) answerForeignGrant(engineCtx);
      challenge(engineCtx, issuer);
      if (route === 'introspection') nameSubject(engineCtx);
      if (route === 'revocation') answerRevoked(engineCtx);
      ctx.set(CLIENT_ANSWER_HEADERS);
    }
  };
}

type Metadata = Record<string, unknown>;

/** Spec §2 "Discovery document": the scopes are the specification's, and nothing is named that isn't offered. */
function toDiscovery(metadata: Metadata): Metadata {
  const { claims_parameter_supported: _notOffered, claim_types_supported: _default, ...offered } = metadata;
  return {
    ...offered,
    scopes_supported: [...SPECIFICATION_SCOPES],
    response_modes_supported: ['query'],
  };
}

/** No credentials of any kind in a well-formed request: the engine calls it an invalid request. */
function isUnauthenticated(ctx: EngineContext): boolean {
  const { params } = ctx.oidc;
  return (
    ctx.status === 400 &&
    params !== undefined &&
    params['client_id'] === undefined &&
    ctx.get('authorization') === '' &&
    ctx.oidc.client === undefined
  );
}

function answerUnauthenticated(ctx: EngineContext): void {
  // RFC 6749 §5.2: invalid_client when no client authentication was included.
  ctx.status = 401;
  ctx.body = { error: 'invalid_client', error_description: 'client authentication is required' };
}

function errorOf({ body }: EngineContext): unknown {
  return (body as { readonly error?: unknown } | undefined)?.error;
}

function answerForeignGrant(ctx: EngineContext): void {
  ctx.body = {
    error: FOREIGN_GRANT,
    error_description: 'the client is not allowed to use this grant type',
  };
}

/** RFC 7009 §2.2: the body says nothing. Single-page apps by oidc-client-ts fail on one that is text/plain. */
function answerRevoked(ctx: EngineContext): void {
  if (ctx.status === 200) ctx.remove('Content-Type');
}

/** RFC 9110 §15.5.2: a 401 names the scheme to use. The engine does so only for a caller that used the header. */
function challenge(ctx: EngineContext, issuer: string): void {
  if (ctx.status !== 401 || ctx.response.headers['www-authenticate'] !== undefined) return;
  ctx.set('WWW-Authenticate', `Basic realm="${issuer}"`);
}

/** RFC 9068 §2.2: the subject of a client's own token is the client; the engine leaves `sub` out. */
function nameSubject(ctx: EngineContext): void {
  const body = ctx.body as { readonly active?: boolean; readonly sub?: string; readonly client_id?: string };
  if (body?.active === true && body.sub === undefined) ctx.body = { ...body, sub: body.client_id };
}
