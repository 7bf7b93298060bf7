// Revoking a token of an app also withdraws what the person allowed it (RFC 7009 §2.1), so that the next sign-in asks
// again. Awaited: the app's answer means that it is done.
import type { Middleware } from 'koa';
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { RememberedConsents } from './remembered-consents.ts';

export function withdrawConsent(consents: RememberedConsents): Middleware {
  return async function withdraw(hostCtx, next) {
    await next();
    const { oidc, status } = hostCtx as unknown as KoaContextWithOIDC;
    if (oidc?.route !== 'revocation' || status !== 200) return;
    const token = oidc.entities.RefreshToken ?? oidc.entities.AccessToken;
    // The engine names the token of another client too, and leaves it alone.
    const clientId = oidc.client?.clientId;
    if (token?.accountId === undefined || clientId === undefined || token.clientId !== clientId) return;
    await consents.withdraw(token.accountId, clientId);
  };
}
