// Who may introspect and revoke which token (RFC 7662 §4, RFC 7009 §2.1). A caller that may not learns nothing.
import type { Client as EngineClient, KoaContextWithOIDC } from 'oidc-provider';
import type { RememberedConsents } from './remembered-consents.ts';
import { signedInAt, type TokenOfPerson } from './signed-in-at.ts';
import { type Audit, originOf } from '../telemetry/audit.ts';
import type { AudienceRules } from '../tokens/audience.ts';

/** What the policies look at in an engine token. */
type PolicedToken = TokenOfPerson & {
  readonly kind: string;
  /** Of a refresh token this is a credential. */
  readonly jti?: string | undefined;
  readonly clientId?: string | undefined;
  readonly accountId?: string | undefined;
  readonly aud?: string | readonly string[] | undefined;
};

export type TokenPolicyParts = {
  readonly audiences: AudienceRules;
  readonly clientExists: (clientId: string) => boolean;
  /** Whether the person may still be signed in with a sign-in at `at` (epoch seconds). */
  readonly accountIsLive: (accountId: string, at: number) => Promise<boolean>;
};

export function createIntrospectionPolicy({ audiences, clientExists, accountIsLive }: TokenPolicyParts) {
  function isListedFor(token: PolicedToken, caller: string): boolean {
    return [token.aud ?? []]
      .flat()
      .some((one) => audiences.findResource(one)?.introspectionClients.includes(caller));
  }

  return async function mayIntrospect(
    _ctx: KoaContextWithOIDC,
    caller: EngineClient,
    token: PolicedToken,
  ): Promise<boolean> {
    const own = token.clientId === caller.clientId;
    if (!own && (token.kind === 'RefreshToken' || !isListedFor(token, caller.clientId))) return false;
    // The engine does not ask again whether the client and the person are still there.
    if (token.clientId === undefined || !clientExists(token.clientId)) return false;
    return token.accountId === undefined || accountIsLive(token.accountId, signedInAt(token));
  };
}

/**
 * RFC 7009 §2.1: only the client that a token was issued to may revoke it. With a person's token goes what the person
 * allowed the app, so that the next sign-in asks again; here, while the token can still be found by a repeated request.
 */
export function createRevocationPolicy(consents: Pick<RememberedConsents, 'withdraw'>, audit: Audit) {
  return async function mayRevoke(
    ctx: KoaContextWithOIDC,
    caller: EngineClient,
    token: PolicedToken,
  ): Promise<boolean> {
    if (token.clientId !== caller.clientId) return false;
    const fields = { ...originOf(ctx.state), client_id: caller.clientId, account_id: token.accountId };
    const tokenId = token.kind === 'RefreshToken' ? undefined : token.jti;
    audit.record('token_revoked', 'success', { ...fields, token_id: tokenId });
    if (token.accountId === undefined) return true;
    await consents.withdraw(token.accountId, caller.clientId);
    audit.record('consent_withdrawn', 'success', { ...fields, reason: 'token_revoked' });
    return true;
  };
}
