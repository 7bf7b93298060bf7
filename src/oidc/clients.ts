// Our clients as the engine's client metadata (RFC 7591). Secrets stay out of it, because the engine would keep one value in
// the clear (see client-authentication.ts).
import type { ClientMetadata } from 'oidc-provider';
import type { Client, Config } from '../config/config.ts';

/** Ids of those that have to hear of the end of their sessions. */
export function logoutClientsOf({ clients }: Pick<Config, 'clients'>): ReadonlySet<string> {
  const notified = clients.filter(({ backchannelLogoutUri }) => backchannelLogoutUri !== undefined);
  return new Set(notified.map(({ clientId }) => clientId));
}

/** Never compared: the engine only wants to see that a confidential client has a secret. */
const PLACEHOLDER_SECRET = 'kept-elsewhere';

export function toClientMetadata(client: Client): ClientMetadata {
  const usesCode = client.grantTypes.includes('authorization_code');
  return {
    client_id: client.clientId,
    ...(client.clientName !== undefined && { client_name: client.clientName }),
    ...(client.tokenEndpointAuthMethod !== 'none' && { client_secret: PLACEHOLDER_SECRET }),
    application_type: client.applicationType,
    token_endpoint_auth_method: client.tokenEndpointAuthMethod,
    grant_types: [...client.grantTypes],
    response_types: usesCode ? ['code'] : [],
    // The engine would let a client that names none use each that is registered.
    response_modes: [...client.responseModes],
    redirect_uris: [...client.redirectUris],
    post_logout_redirect_uris: [...client.postLogoutRedirectUris],
    ...(client.backchannelLogoutUri !== undefined && {
      backchannel_logout_uri: client.backchannelLogoutUri,
      // In its ID tokens, too: without `sid` a logout token ends every session of the user at the app.
      backchannel_logout_session_required: true,
    }),
    // No `scope`: what a client may ask for, and in which order it is refused, is decided in scopes.ts alone.
    id_token_signed_response_alg: client.idTokenSignedResponseAlg,
  };
}
