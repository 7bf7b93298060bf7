// The answer to an API that asks about a live access token (RFC 7662) and may see it. The engine's own answer is the reference,
// and test/features/fast-path compares the two.
import type { EngineApp } from '../../oidc/provider.ts';
import { isMachineToken } from '../../tokens/access-token.ts';
import { asOneRequest, type FastAnswer, findWithGrant, leaveToEngine, peekRequest } from './plain-request.ts';

/** The hint has no effect: the same token is found with any hint and without one (RFC 7662 §2.1). */
const FIELDS = new Set(['token', 'token_type_hint', 'client_id', 'client_secret']);

export function fastIntrospection(parts: EngineApp): FastAnswer {
  const { tokens, findMachineToken, disclose, clients, guard } = parts;
  const { issuer } = tokens;

  async function describeMachines(jwt: string, caller: string) {
    const token = await findMachineToken(jwt);
    const disclosed = token && (await disclose(caller, { kind: 'ClientCredentials', ...token }, undefined));
    return token && disclosed && Object.assign({ active: true }, disclosed, membersOf(token, issuer));
  }

  /** Reads the engine's own models. */
  async function describeUsers(jwt: string, caller: string) {
    const { token, grant } = (await findWithGrant(parts, jwt)) ?? {};
    const disclosed = token && (await disclose(caller, token, grant));
    if (!disclosed) return undefined;
    const subject = { active: true, sub: token.accountId };
    return Object.assign(subject, token.extra, disclosed, membersOf(token, issuer));
  }

  async function describe(jwt: string, caller: string) {
    const claims = await tokens.verify(jwt);
    if (claims === undefined) return undefined;
    const answer = isMachineToken(claims)
      ? await describeMachines(jwt, caller)
      : await asOneRequest(parts, () => describeUsers(jwt, caller));
    const owner = answer && (await clients.load(claims.client_id));
    return owner && guard.isPlain(owner) ? answer : undefined;
  }

  return async function answerIntrospection(request, { clientAddress: address }) {
    const plain = peekRequest(parts, request, FIELDS, { endpoint: 'introspection', address });
    if (plain === undefined) return undefined;
    const { form, client, count } = plain;
    const answer = await describe(form['token'] ?? '', client.clientId).catch(leaveToEngine);
    if (answer !== undefined) await count();
    return answer;
  };
}

type Members = Partial<Record<'jti' | 'clientId' | 'aud' | 'scope' | 'iat' | 'exp' | 'sid', unknown>>;

/** RFC 7662 §2.2 */
function membersOf({ clientId, jti, aud, scope, iat, exp, sid }: Members, issuer: string) {
  return {
    active: true,
    client_id: clientId,
    exp,
    iat,
    sid,
    iss: issuer,
    jti,
    aud,
    scope: scope === '' ? undefined : scope,
    token_type: 'Bearer',
  };
}
