// Corrects the engine's answers to programs, each with the rule that requires it. Answers given in front of the engine have the
// same headers.
import type { Middleware } from 'koa';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { callerOf, grantBegunAt, GRANT_TYPES } from '../config/endpoints.ts';
import { userScopes, type Config } from '../config/config.ts';
import { joinParts } from '../features/index.ts';
import type { Parts } from '../features/parts.ts';

/** RFC 6749 §5.1 requires both for token answers; other answers to clients are just as private. */
export const CLIENT_ANSWER_HEADERS = { 'Cache-Control': 'no-store', Pragma: 'no-cache' } as const;

type EngineContext = KoaContextWithOIDC & { body: unknown };

/** Throws the engine's faults; http/errors.ts turns them into 503, 429 or 500. */
export function adjustAnswers(
  config: Pick<Config, 'issuer' | 'groups' | 'scopes'>,
  features: readonly Parts[],
): Middleware {
  /**
   * RFC 8414 §2: only what is offered. The engine lists response modes that aren't offered, members with default values, and the
   * scopes of all resources, which needn't be advertised.
   */
  const discovered = {
    claims_parameter_supported: undefined,
    claim_types_supported: undefined,
    scopes_supported: userScopes(config),
    response_modes_supported: ['query'],
    ...joinParts(features.map(({ discovery }) => discovery)),
  };
  return async function adjustAnswer(ctx, next) {
    await next();
    const fault: unknown = ctx.state['fault'];
    if (fault instanceof Error) throw fault;

    const engineCtx = ctx as unknown as EngineContext;
    const route = engineCtx['_matchedRouteName'] as string | undefined;
    if (route === undefined) return;
    if (route === 'discovery' && ctx.status === 200) ctx.body = { ...(ctx.body as object), ...discovered };
    if (callerOf(route) === 'client') {
      if (isUnauthenticated(engineCtx)) {
        ctx.status = 401;
        ctx.body = { error: 'invalid_client', error_description: 'client authentication is required' };
      }
      if (tokenErrorOf(engineCtx, errorOf(engineCtx)) === FOREIGN_GRANT) {
        ctx.body = {
          error: FOREIGN_GRANT,
          error_description: 'the client is not allowed to use this grant type',
        };
      }
      // RFC 9110 §15.5.2: a 401 names the scheme to use. The engine does so only if the caller sent the header.
      if (ctx.status === 401 && ctx.response.headers['www-authenticate'] === undefined)
        ctx.set('WWW-Authenticate', `Basic realm="${config.issuer}"`);
      // RFC 7009 §2.2: the body is meaningless. Single-page apps with oidc-client-ts fail if it is text/plain.
      if (route === 'revocation' && ctx.status === 200) ctx.remove('Content-Type');
      ctx.set(CLIENT_ANSWER_HEADERS);
    }
  };
}

/** RFC 6749 §5.2: a well-formed request without client authentication is invalid_client; the engine says invalid_request. */
function isUnauthenticated(ctx: EngineContext): boolean {
  const { params, body, client } = ctx.oidc;
  const namesNone = params !== undefined && params['client_id'] === undefined;
  // RFC 6749 §3.2: a repeated client_id is invalid_request.
  const isTwice = Array.isArray(body?.['client_id']);
  return (
    ctx.status === 400 && namesNone && !isTwice && ctx.get('authorization') === '' && client === undefined
  );
}

export const isGrantType = (asked: unknown): asked is string => GRANT_TYPES.some((one) => one === asked);

const FOREIGN_GRANT = 'unauthorized_client';
const errorOf = ({ body }: EngineContext) => (body as { readonly error?: string } | undefined)?.error;

/** RFC 6749 §5.2: replaces the engine's `error` when the grant type is offered, but not to this client. */
export function tokenErrorOf<Code>({ oidc }: Pick<KoaContextWithOIDC, 'oidc'>, error: Code) {
  const { params, client, route } = oidc;
  const asked = route === 'token' ? params?.['grant_type'] : grantBegunAt(route)?.type;
  if (error !== 'invalid_request' || !isGrantType(asked)) return error;
  return client?.grantTypeAllowed(asked) === false ? FOREIGN_GRANT : error;
}
