// Which caller may introspect and revoke which token (RFC 7662 §4, RFC 7009 §2.1). A refused caller learns nothing.
import { errors, type Client as EngineClient, type KoaContextWithOIDC } from 'oidc-provider';
import type { App } from '../app.ts';
import type { GivenToken, Guard } from '../guard.ts';
import { issuedWithGrant } from '../seam/session-sign-in.ts';
import { originOf } from '../../observability/audit.ts';

type Disclose = ReturnType<typeof createDisclose>;

export function createDisclose({ audiences, claims, clients, findLive }: App, guard: Required<Guard>) {
  const isListed = (caller: string, aud: GivenToken['aud'] = []) =>
    [aud].flat().some((one) => audiences.findResource(one)?.introspectionClients.includes(caller));

  /**
   * Whether it is the caller's own token, or an access token for an API that lists the caller. Neither an API nor a service sees a token
   * whose client has lost all scopes of that API; a user's token still works at userinfo.
   */
  function maySee(caller: string, { kind, clientId = '', accountId, aud, scope = '' }: GivenToken): boolean {
    const isBacked = () => aud === undefined || audiences.isBacked(aud, scope.split(' '), clientId);
    if (clientId === caller) return accountId !== undefined || isBacked();
    return kind !== 'RefreshToken' && isListed(caller, aud) && isBacked();
  }

  /**
   * Decides about a live token for both ways of introspection, and resolves the claims to add to the answer; undefined when `caller` may
   * not see it, or its user may no longer be signed in or have what it grants. `grant`: the token's own, as the engine found it; a
   * client's own token has none.
   */
  return async function disclose(
    caller: string,
    token: GivenToken,
    grant: object | undefined,
  ): Promise<Readonly<Record<string, unknown>> | undefined> {
    if (!maySee(caller, token)) return undefined;
    const client = await clients.load(token.clientId);
    if (client === undefined) return undefined;
    // RFC 9068 §2.2: the subject of a client's own token is the client.
    if (token.accountId === undefined) return { sub: token.clientId };
    const account = await findLive(token.accountId, issuedWithGrant(grant));
    if (account === undefined) return undefined;
    if (!(await guard.sees(account, token))) return undefined;
    // RFC 7662 §2.2
    const name = token.scope?.split(' ').includes('profile') === true ? { username: account.username } : {};
    return { ...claims.now(token, account, client), ...name };
  };
}

export function createIntrospectionPolicy(disclose: Disclose) {
  return async function mayIntrospect(
    { oidc: { entities } }: KoaContextWithOIDC,
    { clientId }: EngineClient,
    token: GivenToken,
  ): Promise<boolean> {
    const disclosed = await disclose(clientId, token, entities.Grant);
    if (disclosed === undefined) return false;
    Object.assign(token, { extra: { ...token.extra, ...disclosed } });
    return true;
  };
}

/**
 * RFC 7009 §2.1: only the client that a token was issued to may revoke it. Also withdraws the user's consent, so that the
 * next sign-in asks again. This happens first, while a repeated request still finds the token.
 */
export function createRevocationPolicy({ takeBeforeUse, consents, audit, records }: App) {
  // Audit records are written once the token is gone.
  const { afterwards } = records;
  return async function mayRevoke(
    ctx: KoaContextWithOIDC,
    caller: EngineClient,
    token: GivenToken,
  ): Promise<boolean> {
    if (token.clientId !== caller.clientId)
      throw new errors.InvalidRequest('the token was issued to another client');
    await takeBeforeUse(ctx);
    const fields = { ...originOf(ctx.state), client_id: caller.clientId, account_id: token.accountId };
    const tokenId = token.kind === 'RefreshToken' ? undefined : token.jti;
    afterwards(() => audit.record('token_revoked', 'success', { ...fields, token_id: tokenId }));
    if (token.accountId === undefined) return true;
    await consents.withdraw(token.accountId, caller.clientId);
    afterwards(() => audit.record('consent_withdrawn', 'success', { ...fields, reason: 'token_revoked' }));
    return true;
  };
}
