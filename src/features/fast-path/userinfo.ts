// The answer to a plain GET with a user's access token (OIDC Core §5.3), from the engine's own models. The engine's answer is the reference
// that test/features/fast-path compares it with.
import type { IncomingMessage } from 'node:http';
import type Provider from 'oidc-provider';
import type { EngineApp } from '../../oidc/provider.ts';
import { issuedWithGrant } from '../../oidc/seam/session-sign-in.ts';
import { asOneRequest, type FastAnswer, findWithGrant, leaveToEngine } from './plain-request.ts';

/** Headers of browsers, and of requests with a body. */
const UNUSUAL_HEADERS = ['cookie', 'origin', 'content-type', 'content-length', 'transfer-encoding'];

type AccessToken = InstanceType<Provider['AccessToken']>;
type Grant = InstanceType<Provider['Grant']>;

const jwtIn = ({ headers }: IncomingMessage) => /^Bearer ([\w.-]+)$/.exec(headers.authorization ?? '')?.[1];

export const announcesToken = (request: IncomingMessage) =>
  jwtIn(request) !== undefined && UNUSUAL_HEADERS.every((name) => request.headers[name] === undefined);

export function fastUserinfo(parts: EngineApp): FastAnswer {
  const { tokens, clients, findLive, guard, claims, limits } = parts;

  /** Whether no feature needs the engine's answer for the client. */
  function isOfPlainClient({ clientId = '' }: AccessToken): boolean {
    const client = clients.find(clientId);
    return client !== undefined && guard.isPlain(client);
  }

  /** Whether the token is for userinfo. The engine answers if claims were requested individually. */
  const worksHere = ({ aud, scopes, claims: asked = {} }: AccessToken) =>
    [aud].flat().includes(tokens.issuer) && scopes.has('openid') && Object.keys(asked).length === 0;

  function claimsIn(all: Readonly<Record<string, unknown>>, { scopes }: AccessToken, grant: Grant) {
    const rejected = grant.getRejectedOIDCClaims();
    const granted = grant.getOIDCScopeFiltered(scopes).split(' ');
    const names = granted.flatMap((scope) => claims.byScope[scope] ?? []);
    return Object.fromEntries(names.map((name) => [name, rejected.includes(name) ? undefined : all[name]]));
  }

  async function describe(jwt: string) {
    const { token, grant } = (await findWithGrant(parts, jwt)) ?? {};
    if (!token || !grant || !worksHere(token) || !isOfPlainClient(token)) return undefined;
    const account = await findLive(token.accountId, issuedWithGrant(grant));
    if (account === undefined || !(await guard.sees(account, token))) return undefined;
    return claimsIn(claims.forClient(account, token.clientId), token, grant);
  }

  return async function answerUserinfo(request, { clientAddress }) {
    const answer = await asOneRequest(parts, () => describe(jwtIn(request) ?? '')).catch(leaveToEngine);
    if (answer !== undefined) await limits.takeAddress('userinfo', clientAddress);
    return answer;
  };
}
