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

/** Whether the client `caller` may hear of a token at all, whatever became of its person. */
export type MayHearOf = (caller: string, token: Pick<PolicedToken, 'kind' | 'clientId' | 'aud'>) => boolean;

/** The caller's own tokens, and access tokens for an API that lists it; of clients that are still there, which the engine doesn't ask again. */
export function createHearingPolicy({
  audiences,
  clientExists,
}: Pick<TokenPolicyParts, 'audiences' | 'clientExists'>): MayHearOf {
  function isListedFor(aud: PolicedToken['aud'], caller: string): boolean {
    return [aud ?? []]
      .flat()
      .some((one) => audiences.findResource(one)?.introspectionClients.includes(caller));
  }

  return function mayHearOf(caller, { kind, clientId, aud }) {
    const own = clientId === caller;
    if (!own && (kind === 'RefreshToken' || !isListedFor(aud, caller))) return false;
    return clientId !== undefined && clientExists(clientId);
  };
}

export function createIntrospectionPolicy({ accountIsLive, ...parts }: TokenPolicyParts) {
  const mayHearOf = createHearingPolicy(parts);
  return async function mayIntrospect(
    _ctx: KoaContextWithOIDC,
    caller: EngineClient,
    token: PolicedToken,
  ): Promise<boolean> {
    if (!mayHearOf(caller.clientId, token)) return false;
    // Nor does it ask whether the person is.
    return token.accountId === undefined || accountIsLive(token.accountId, signedInAt(token));
  };
}

export type RevocationPolicyParts = {
  readonly consents: Pick<RememberedConsents, 'withdraw'>;
  readonly audit: Audit;
  /** Runs what it is given once the token is gone: a record says what has happened. */
  readonly afterwards: (action: () => void) => void;
};

/**
 * RFC 7009 §2.1: only the client that a token was issued to may revoke it. With a person's token goes what the person
 * allowed the app, so that the next sign-in asks again; here, while the token can still be found by a repeated request.
 */
export function createRevocationPolicy({ consents, audit, afterwards }: RevocationPolicyParts) {
  return async function mayRevoke(
    ctx: KoaContextWithOIDC,
    caller: EngineClient,
    token: PolicedToken,
  ): Promise<boolean> {
    if (token.clientId !== caller.clientId) return false;
    const fields = { ...originOf(ctx.state), client_id: caller.clientId, account_id: token.accountId };
    const tokenId = token.kind === 'RefreshToken' ? undefined : token.jti;
    afterwards(() => audit.record('token_revoked', 'success', { ...fields, token_id: tokenId }));
    if (token.accountId === undefined) return true;
    await consents.withdraw(token.accountId, caller.clientId);
    afterwards(() => audit.record('consent_withdrawn', 'success', { ...fields, reason: 'token_revoked' }));
    return true;
  };
}
