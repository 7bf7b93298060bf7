// Which apps get a refresh token (OIDC Core §11) beyond the engine's rules. The engine drops offline_access from a request without
// prompt=consent before it calls a hook here.
import type { KoaContextWithOIDC } from 'oidc-provider';
import { isUrlClient } from '../../config/client-id-url.ts';
import type { Client } from '../../config/config.ts';
import type { Log } from '../../observability/log.ts';
import { scopesIn } from './scopes.ts';

const OFFLINE_ACCESS = 'offline_access';
/** Bounds the memory, because there may be many clients by document. */
const MAX_LOGGED = 1000;

export function createRestoreOfflineAccess(log: Log) {
  const logged = new Set<string>();

  /** Logs the reason once per client, because the answer doesn't say why there is no refresh token. */
  function logOnce({ clientId }: Client): void {
    if (logged.has(clientId) || logged.size >= MAX_LOGGED) return;
    logged.add(clientId);
    log.warn(
      { clientId },
      'ignored offline_access without prompt=consent: no refresh token is issued; the app must send prompt=consent',
    );
  }

  /** Restores the scope for first-party apps, as long as they still are at resume. */
  return function restoreOfflineAccess({ query, oidc }: KoaContextWithOIDC, client: Client): void {
    const { route, prompts, params = {} } = oidc;
    if (prompts.has('consent')) return;
    const left = scopesIn(params['scope']).filter((scope) => scope !== OFFLINE_ACCESS);
    if (route === 'resume' && !isOwn(client)) params['scope'] = left.join(' ');
    if (route !== 'authorization' || !scopesIn(query['scope']).includes(OFFLINE_ACCESS)) return;
    if (isOwn(client) && left.length > 0) params['scope'] = [...left, OFFLINE_ACCESS].join(' ');
    else logOnce(client);
  };
}

/** Whether the app is first-party. RFC 8252 §8.6: without a secret, any app can claim to be this client. */
function isOwn({ consent, tokenEndpointAuthMethod, applicationType, scopes }: Client): boolean {
  const isProven = tokenEndpointAuthMethod !== 'none' && applicationType === 'web';
  return consent === 'implicit' && isProven && scopes.includes(OFFLINE_ACCESS);
}

/**
 * Whether the app gets a refresh token without offline_access. OIDC Core §11 defines that scope for requests with openid; clients by
 * document declare what they need in their grant types.
 */
export function refreshesUnasked({ clientId, grantTypes }: Client, scopes: readonly string[]): boolean {
  const asks = scopes.includes('openid') || scopes.includes(OFFLINE_ACCESS);
  return isUrlClient(clientId) && grantTypes.includes('refresh_token') && !asks;
}
