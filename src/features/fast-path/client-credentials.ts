// The answer to a plain, correct client_credentials request. The engine's own answer is the reference, and
// test/features/fast-path compares the two.
import { randomBytes } from 'node:crypto';
import { recordIssued } from '../../oidc/engine-events.ts';
import type { EngineApp } from '../../oidc/provider.ts';
import { type FastAnswer, peekRequest, type RequestState } from './plain-request.ts';

const FIELDS = new Set(['grant_type', 'scope', 'client_id', 'client_secret']);
/** The same as the engine's own token IDs: 256 bits. */
const TOKEN_ID_BYTES = 32;

export function fastClientCredentials(parts: EngineApp): FastAnswer {
  const { findRefusal, findDefault, tokens, audiences, now, audit, maySign } = parts;

  async function issue(clientId: string, scopes: readonly string[], state: RequestState) {
    const scope = scopes.join(' ');
    const aud = audiences.audienceOf(scopes);
    const lifetime = audiences.lifetimeOf(aud);
    const iat = Math.floor(now() / 1000);
    const jti = randomBytes(TOKEN_ID_BYTES).toString('base64url');
    const claims = { sub: clientId, aud, exp: iat + lifetime, iat, jti, client_id: clientId, scope };
    const jwt = await tokens.sign(claims);
    const issued = { client_id: clientId, grant_type: 'client_credentials', scope, token_id: jti };
    recordIssued(audit, state, issued);
    // RFC 6749 §5.1
    return { access_token: jwt, expires_in: lifetime, scope, token_type: 'Bearer' };
  }

  return async function answerClientCredentials(request, state) {
    const from = { endpoint: 'token', address: state.clientAddress } as const;
    const plain = maySign() ? peekRequest(parts, request, FIELDS, from) : undefined;
    if (plain?.form['grant_type'] !== 'client_credentials') return undefined;
    const { form, client, count } = plain;
    const named = plainScopes(form['scope']);
    if (named === undefined || !client.grantTypes.includes('client_credentials')) return undefined;
    const scopes = named.length > 0 ? named : findDefault({ client, isForUser: false });
    if (findRefusal({ client, scopes, isForUser: false }) !== undefined) return undefined;
    await count();
    return issue(client.clientId, scopes, state);
  };
}

/** The requested scopes, each named once; undefined if the engine must answer. */
function plainScopes(requested: string | undefined): readonly string[] | undefined {
  if (requested === undefined) return [];
  const names = requested.split(' ');
  return names.includes('') || new Set(names).size < names.length ? undefined : names;
}
