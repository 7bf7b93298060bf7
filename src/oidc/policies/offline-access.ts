// When a refresh token comes without prompt=consent. OIDC Core §11 lets a provider have conditions of its own; the engine has none and drops
// offline_access from a request without prompt=consent before it asks anything here.
import type { KoaContextWithOIDC } from 'oidc-provider';
import { isDocumentClient } from '../../config/client-id-url.ts';
import type { Client } from '../../config/config.ts';
import type { Log } from '../../observability/log.ts';
import type { Consent } from './remembered-consents.ts';
import { scopesIn } from './scopes.ts';

type Asked = { readonly scopes: readonly string[]; readonly resource: string | undefined };

const OFFLINE_ACCESS = 'offline_access';
/** Clients by document may be many. */
const MAX_LOGGED = 1000;

export type OfflineAccess = ReturnType<typeof createOfflineAccess>;

export function createOfflineAccess(log: Log) {
  const logged = new Set<string>();

  /** Nothing in the answer says why there is no refresh token. */
  function logOnce({ clientId }: Client): void {
    if (logged.has(clientId) || logged.size >= MAX_LOGGED) return;
    logged.add(clientId);
    log.warn(
      { clientId },
      'offline_access was asked for without prompt=consent and is dropped: no refresh token; let the app send prompt=consent',
    );
  }

  return {
    /** Puts the scope back that the engine dropped: whether it may stay is known with the person. */
    restore({ query, oidc }: KoaContextWithOIDC, client: Client): void {
      const { route, prompts, params = {} } = oidc;
      if (route !== 'authorization' || prompts.has('consent')) return;
      const left = scopesIn(params['scope']);
      if (!scopesIn(query['scope']).includes(OFFLINE_ACCESS) || left.includes(OFFLINE_ACCESS)) return;
      if (isProven(client) && left.length > 0) params['scope'] = [...left, OFFLINE_ACCESS].join(' ');
      else logOnce(client);
    },

    /** Drops it again where nobody allowed it. `consent`: what the person allowed this client before. */
    decide({ oidc }: KoaContextWithOIDC, client: Client, consent: Consent | undefined): void {
      const { prompts, params = {}, entities } = oidc;
      // Its page has asked.
      if (entities.DeviceCode !== undefined) return;
      const scopes = scopesIn(params['scope']);
      if (prompts.has('consent') || !scopes.includes(OFFLINE_ACCESS)) return;
      if (
        isProven(client) &&
        (client.consent === 'implicit' || isAllowed(consent, scopes, params['resource']))
      )
        return;
      params['scope'] = scopes.filter((scope) => scope !== OFFLINE_ACCESS).join(' ');
      logOnce(client);
    },
  };
}

/** RFC 8252 §8.6: without a secret, anybody can claim to be this client. */
function isProven({ tokenEndpointAuthMethod, applicationType, scopes }: Client): boolean {
  return tokenEndpointAuthMethod !== 'none' && applicationType === 'web' && scopes.includes(OFFLINE_ACCESS);
}

/** Whether the person allowed these scopes at this API together with offline_access, be it in several steps. */
function isAllowed(consent: Consent | undefined, scopes: readonly string[], resource: unknown): boolean {
  const allowed = consent?.lasting?.[lastingKey(resource)] ?? [];
  return scopes.every((scope) => allowed.includes(scope));
}

/**
 * Whether it gets a refresh token without asking for offline_access. OIDC Core §11 has that scope for requests with openid; clients by
 * document say with their grant types what they need.
 */
export function refreshesUnasked({ clientId, grantTypes }: Client, scopes: readonly string[]): boolean {
  const asks = scopes.includes('openid') || scopes.includes(OFFLINE_ACCESS);
  return isDocumentClient(clientId) && grantTypes.includes('refresh_token') && !asks;
}

const lastingKey = (resource: unknown) => (typeof resource === 'string' ? resource : '');

/** What a consent to what was asked allows while the person is away. */
export function lastingOf({ scopes, resource }: Asked): Consent['lasting'] {
  return scopes.includes(OFFLINE_ACCESS) ? { [lastingKey(resource)]: scopes } : {};
}
