// Which grant an authorization request starts from: the one just consented to, the session's, or, for a first-party
// app with `consent: implicit`, one that already holds what is asked for.
import type { Grant, KoaContextWithOIDC } from 'oidc-provider';
import type { Client } from '../config/config.ts';

export function createLoadExistingGrant(clients: ReadonlyMap<string, Client>) {
  return async function loadExistingGrant(ctx: KoaContextWithOIDC): Promise<Grant | undefined> {
    const { client, session, account, result, provider } = ctx.oidc;
    if (client === undefined || session === undefined || account === undefined) return undefined;
    const grantId = result?.consent?.grantId ?? session.grantIdFor(client.clientId);
    const existing = grantId === undefined ? undefined : await provider.Grant.find(grantId);
    if (clients.get(client.clientId)?.consent !== 'implicit') return existing;

    const { accountId } = account;
    const grant = existing ?? new provider.Grant({ accountId, clientId: client.clientId });
    grantRequested(grant, ctx);
    await grant.save();
    return grant;
  };
}

function grantRequested(grant: Grant, { oidc }: KoaContextWithOIDC): void {
  grant.addOIDCScope([...oidc.requestParamOIDCScopes].join(' '));
  for (const [resource, { scopes }] of Object.entries(oidc.resourceServers ?? {})) {
    const owned = [...oidc.requestParamScopes].filter((scope) => scopes.has(scope));
    grant.addResourceScope(resource, owned.join(' '));
  }
}
