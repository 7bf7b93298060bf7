// Who may introspect and revoke which token (RFC 7662 §4, RFC 7009 §2.1). A caller that may not learns nothing.
import { errors, type Client as EngineClient, type KoaContextWithOIDC } from 'oidc-provider';
import type { Accounts } from '../../users/accounts.ts';
import type { FindClient } from '../clients.ts';
import type { ClientLimits } from '../limit-clients.ts';
import type { RememberedConsents } from './remembered-consents.ts';
import { issuedByToken, type TokenOfPerson } from '../signed-in-at.ts';
import { type Audit, originOf } from '../../observability/audit.ts';
import type { AudienceRules } from '../../tokens/audience.ts';

/** What the policies look at in an engine token. */
type PolicedToken = TokenOfPerson & {
  readonly kind: string;
  /** Of a refresh token this is a credential. */
  readonly jti?: string | undefined;
  readonly clientId?: string | undefined;
  readonly accountId?: string | undefined;
  readonly aud?: string | readonly string[] | undefined;
  readonly scope?: string | undefined;
  /** Shown at introspection as it is. */
  extra?: Readonly<Record<string, unknown>> | undefined;
};

export type TokenPolicyParts = {
  readonly audiences: AudienceRules;
  readonly findClient: FindClient;
  readonly findLive: Accounts['findLive'];
};

/** Whether the client `caller` may hear of a token at all, whatever became of its person. */
export type MayHearOf = (caller: string, token: Pick<PolicedToken, 'kind' | 'clientId' | 'aud'>) => boolean;

/**
 * The caller's own tokens, and access tokens for an API that lists it; of clients and APIs that are still there, which the engine
 * doesn't ask again.
 */
export function createHearingPolicy({
  audiences,
  findClient,
}: Pick<TokenPolicyParts, 'audiences' | 'findClient'>): MayHearOf {
  function isListedFor(aud: PolicedToken['aud'], caller: string): boolean {
    return [aud ?? []]
      .flat()
      .some((one) => audiences.findResource(one)?.introspectionClients.includes(caller));
  }

  return function mayHearOf(caller, { kind, clientId, aud }) {
    if (aud !== undefined && !audiences.isKnown(aud)) return false;
    const own = clientId === caller;
    if (!own && (kind === 'RefreshToken' || !isListedFor(aud, caller))) return false;
    return clientId !== undefined && findClient(clientId) !== undefined;
  };
}

export function createIntrospectionPolicy({ findLive, ...parts }: TokenPolicyParts) {
  const { audiences } = parts;
  const mayHearOf = createHearingPolicy(parts);

  /** Whether the person allowed it, or the API that asks is configured to see it. */
  function mayHearName({ scope, aud }: PolicedToken, caller: string): boolean {
    if (scope?.split(' ').includes('profile') === true) return true;
    const apis = [aud ?? []].flat().map(audiences.findResource);
    return apis.some(
      (api) => api?.introspectionUsername === true && api.introspectionClients.includes(caller),
    );
  }

  return async function mayIntrospect(
    { oidc: { provider } }: KoaContextWithOIDC,
    { clientId }: EngineClient,
    token: PolicedToken,
  ): Promise<boolean> {
    if (!mayHearOf(clientId, token)) return false;
    if (token.accountId === undefined) return true;
    const account = await findLive(token.accountId, await issuedByToken(provider, token));
    if (account === undefined) return false;
    // RFC 7662 §2.2
    if (mayHearName(token, clientId)) token.extra = { ...token.extra, username: account.username };
    return true;
  };
}

export type RevocationPolicyParts = Pick<ClientLimits, 'takeBeforeUse'> & {
  readonly consents: Pick<RememberedConsents, 'withdraw'>;
  readonly audit: Audit;
  /** Runs what it is given once the token is gone: a record says what has happened. */
  readonly afterwards: (action: () => void) => void;
};

/**
 * RFC 7009 §2.1: only the client that a token was issued to may revoke it. With a person's token goes what the person
 * allowed the app, so that the next sign-in asks again; here, while the token can still be found by a repeated request.
 */
export function createRevocationPolicy({
  takeBeforeUse,
  consents,
  audit,
  afterwards,
}: RevocationPolicyParts) {
  return async function mayRevoke(
    ctx: KoaContextWithOIDC,
    caller: EngineClient,
    token: PolicedToken,
  ): Promise<boolean> {
    if (token.clientId !== caller.clientId) {
      // A public caller hasn't proved who it is, so it learns nothing, not even that a token is somebody's.
      if (caller.clientAuthMethod === 'none') return false;
      throw new errors.InvalidRequest('the token was issued to another client');
    }
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
