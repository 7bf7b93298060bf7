// Which grant an authorization request starts from: the one just consented to, the session's, one made from what the
// person allowed before, or, for a first-party app with `consent: implicit`, one that holds what is asked for.
import type { Grant, KoaContextWithOIDC } from 'oidc-provider';
import type { Accounts } from '../accounts/accounts.ts';
import type { Client } from '../config/config.ts';
import { WHOLE_API } from './interaction-policy.ts';
import type { RememberedConsent, RememberedConsents } from './remembered-consents.ts';

export type ExistingGrantParts = {
  readonly clients: ReadonlyMap<string, Client>;
  readonly accounts: Accounts;
  readonly consents: RememberedConsents;
};

export function createLoadExistingGrant({ clients, accounts, consents }: ExistingGrantParts) {
  /** Undefined also when everything of the person was ended since. */
  async function findConsent(accountId: string, clientId: string): Promise<RememberedConsent | undefined> {
    const consent = await consents.find(accountId, clientId);
    if (consent === undefined) return undefined;
    return (await accounts.findLive(accountId, consent.at)) && consent;
  }

  return async function loadExistingGrant(ctx: KoaContextWithOIDC): Promise<Grant | undefined> {
    const { client, session, account, result, provider } = ctx.oidc;
    if (client === undefined || session === undefined || account === undefined) return undefined;
    const { accountId } = account;
    const { clientId } = client;
    const grantId = result?.consent?.grantId ?? session.grantIdFor(clientId);
    const existing = grantId === undefined ? undefined : await provider.Grant.find(grantId);
    const start = () => existing ?? new provider.Grant({ accountId, clientId });

    if (clients.get(clientId)?.consent === 'implicit') {
      const grant = start();
      grantRequested(grant, ctx);
      await grant.save();
      return grant;
    }
    const consent = await findConsent(accountId, clientId);
    if (consent === undefined || covers(existing, consent)) return existing;
    const grant = start();
    grantRemembered(grant, consent);
    await grant.save();
    return grant;
  };
}

function grantRequested(grant: Grant, { oidc }: KoaContextWithOIDC): void {
  grant.addOIDCScope([...oidc.requestParamOIDCScopes].join(' '));
  for (const [resource, { scope, scopes }] of Object.entries(oidc.resourceServers ?? {})) {
    const owned = [...oidc.requestParamScopes].filter((one) => scopes.has(one));
    grant.addResourceScope(resource, scope === '' ? WHOLE_API : owned.join(' '));
  }
}

function grantRemembered(grant: Grant, { scopes, claims, resourceScopes }: RememberedConsent): void {
  if (scopes.length > 0) grant.addOIDCScope(scopes.join(' '));
  if (claims.length > 0) grant.addOIDCClaims([...claims]);
  for (const [resource, owned] of Object.entries(resourceScopes)) {
    if (owned.length > 0) grant.addResourceScope(resource, owned.join(' '));
  }
}

function includes(granted: string, wanted: readonly string[]): boolean {
  const known = new Set(granted.split(' '));
  return wanted.every((one) => known.has(one));
}

function covers(grant: Grant | undefined, { scopes, claims, resourceScopes }: RememberedConsent): boolean {
  return (
    grant !== undefined &&
    includes(grant.getOIDCScopeEncountered(), scopes) &&
    includes(grant.getOIDCClaimsEncountered().join(' '), claims) &&
    Object.entries(resourceScopes).every(([resource, owned]) =>
      includes(grant.getResourceScopeEncountered(resource), owned),
    )
  );
}
