// Which grant an authorization request starts from: the one just consented to, the session's, one made from what the
// person allowed before, or, for a first-party app with `consent: implicit`, one that holds what is asked for.
import type Provider from 'oidc-provider';
import type { Grant, KoaContextWithOIDC } from 'oidc-provider';
import { addToGrant, askedFor } from './asked-for.ts';
import type { FindClient } from '../clients.ts';
import type { AccessPolicy } from './access.ts';
import type { OfflineAccess } from './offline-access.ts';
import { allowsAll, type Consent, type RememberedConsents } from './remembered-consents.ts';
import { generationOf } from '../seam/session-sign-in.ts';

export type ExistingGrantParts = {
  readonly findClient: FindClient;
  readonly consents: RememberedConsents;
  readonly offlineAccess: Pick<OfflineAccess, 'decide'>;
  /** Undefined where the file has no such rules. */
  readonly access: Pick<AccessPolicy, 'narrow'> | undefined;
};

/** Of whom and for which app, and of which sign-in: what is in a grant of another one has ended, or goes by the second. */
type GrantOf = {
  readonly accountId: string;
  readonly clientId: string;
  readonly generation: string | undefined;
};

export async function findGrant(
  provider: Provider,
  grantId: string | undefined,
  { generation }: Pick<GrantOf, 'generation'>,
): Promise<Grant | undefined> {
  const grant = grantId === undefined ? undefined : await provider.Grant.find(grantId);
  return grant && generationOf(grant) === generation ? grant : undefined;
}

export function newGrant(provider: Provider, { accountId, clientId, generation }: GrantOf): Grant {
  return Object.assign(new provider.Grant({ accountId, clientId }), { generation });
}

export function createLoadExistingGrant(parts: ExistingGrantParts) {
  const { findClient, consents, offlineAccess, access } = parts;
  async function load(ctx: KoaContextWithOIDC): Promise<Grant | undefined> {
    const { client, session, account, result, params, provider } = ctx.oidc;
    if (client === undefined || session === undefined || account === undefined) return undefined;
    const { accountId } = account;
    const { clientId } = client;
    const settings = findClient(clientId);
    if (settings === undefined) return undefined;
    const grantId = result?.consent?.grantId ?? session.grantIdFor(clientId);
    const of = { accountId, clientId, generation: generationOf(session) };
    const existing = await findGrant(provider, grantId, of);
    const start = () => existing ?? newGrant(provider, of);

    if (settings.consent === 'implicit') {
      offlineAccess.decide(ctx, settings, undefined);
      const grant = start();
      addToGrant(grant, askedFor(ctx));
      await grant.save();
      return grant;
    }
    const redirectUri = String(params?.['redirect_uri']);
    const consent = await consents.find({ accountId, clientId, redirectUri });
    offlineAccess.decide(ctx, settings, consent);
    if (consent === undefined || covers(existing, consent)) return existing;
    const grant = start();
    addToGrant(grant, consent);
    await grant.save();
    return grant;
  }

  return async function loadExistingGrant(ctx: KoaContextWithOIDC): Promise<Grant | undefined> {
    // Nothing is stored for a person without access; interaction-policy.ts shows them the page.
    return access?.narrow(ctx) === false ? undefined : load(ctx);
  };
}

function covers(grant: Grant | undefined, consent: Consent): boolean {
  const resources = Object.keys(consent.resourceScopes);
  const granted = grant && {
    scopes: grant.getOIDCScopeEncountered().split(' '),
    claims: grant.getOIDCClaimsEncountered(),
    resourceScopes: Object.fromEntries(
      resources.map((one) => [one, grant.getResourceScopeEncountered(one).split(' ')]),
    ),
  };
  return allowsAll(granted, consent);
}
