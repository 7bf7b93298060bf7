// Which apps get a refresh token (OIDC Core §11), beside what the engine allows: it drops offline_access from a request without
// prompt=consent before it asks anything here.
import type { KoaContextWithOIDC } from 'oidc-provider';
import { isUrlClient } from '../../config/client-id-url.ts';
import type { Client } from '../../config/config.ts';
import type { Log } from '../../observability/log.ts';
import { scopesIn } from './scopes.ts';

const OFFLINE_ACCESS = 'offline_access';
/** Clients by document may be many. */
const MAX_LOGGED = 1000;

export function createRestoreOfflineAccess(log: Log) {
  const logged = new Set<string>();

  /** Nothing in the answer says why there is no refresh token. */
  function logOnce({ clientId }: Client): void {
    if (logged.has(clientId) || logged.size >= MAX_LOGGED) return;
    logged.add(clientId);
    log.warn(
      { clientId },
      'ignored offline_access without prompt=consent: no refresh token is issued; the app must send prompt=consent',
    );
  }

  /** Puts the scope back for the operator's own apps, as long as they are that. */
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

/** RFC 8252 §8.6: without a secret, anybody can claim to be this client. */
function isOwn({ consent, tokenEndpointAuthMethod, applicationType, scopes }: Client): boolean {
  const isProven = tokenEndpointAuthMethod !== 'none' && applicationType === 'web';
  return consent === 'implicit' && isProven && scopes.includes(OFFLINE_ACCESS);
}

/**
 * Whether it gets a refresh token without asking for offline_access. OIDC Core §11 has that scope for requests with openid; clients by
 * document say with their grant types what they need.
 */
export function refreshesUnasked({ clientId, grantTypes }: Client, scopes: readonly string[]): boolean {
  const asks = scopes.includes('openid') || scopes.includes(OFFLINE_ACCESS);
  return isUrlClient(clientId) && grantTypes.includes('refresh_token') && !asks;
}
