// Looks up clients: those of the configuration, and those that a feature knows. The engine gets a client's metadata (RFC 7591) without
// secrets, because it would keep one in the clear (see client-authentication.ts).
import type { ClientMetadata } from 'oidc-provider';
import type { Client } from '../config/config.ts';
import { joinParts } from '../features/index.ts';

/** Resolves undefined for an unknown client. Throws what the host answers: ClientUnavailable, TooManyRequests, StoreUnavailable. */
export type ClientSource = (clientId: string) => Promise<Client | undefined>;

export type ClientMetadataOf = (client: Client) => Partial<ClientMetadata>;

export type Clients = ReturnType<typeof createClientLookup>;

/** The client can't be looked up right now: the answer is 503. The message gives administrators the reason. */
export class ClientUnavailable extends Error {
  /** For metrics. */
  readonly why: string;
  readonly retryAfterSeconds: number;

  constructor(message: string, why: string, waitMs: number) {
    super(message);
    this.name = 'ClientUnavailable';
    this.why = why;
    this.retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000));
  }
}

export function createClientLookup(clients: readonly Client[]) {
  const ofFile = new Map(clients.map((client) => [client.clientId, client]));
  const sources: ClientSource[] = [];

  return {
    /** Finds a configured client: for the fast path, for hooks of the engine that can't wait, and where no source may be asked. */
    find: (clientId: string) => ofFile.get(clientId),
    /** Throws what the source throws. */
    load: async (clientId = '') => {
      const known = ofFile.get(clientId);
      if (known) return known;
      for (const source of sources) {
        const client = await source(clientId);
        if (client) return client;
      }
      return undefined;
    },
    /** Called once, before the first look-up. */
    alsoFrom: (more: readonly ClientSource[]) => void sources.push(...more),
  };
}

export type KnownClients = Readonly<{ clients: Clients; metadataOf: (client: Client) => ClientMetadata }>;

/** Never compared: the engine only requires that a confidential client has a secret. */
const PLACEHOLDER_SECRET = 'kept-elsewhere';

/** The engine's metadata of a client, with the members that features add. */
export const clientMetadataOf =
  (features: readonly { readonly clientMetadata?: ClientMetadataOf }[]) =>
  (client: Client): ClientMetadata => ({
    ...joinParts(features.map(({ clientMetadata }) => clientMetadata?.(client))),
    ...toClientMetadata(client),
  });

function toClientMetadata(client: Client): ClientMetadata {
  const usesCode = client.grantTypes.includes('authorization_code');
  return {
    client_id: client.clientId,
    ...(client.clientName !== undefined && { client_name: client.clientName }),
    ...(client.tokenEndpointAuthMethod !== 'none' && { client_secret: PLACEHOLDER_SECRET }),
    application_type: client.applicationType,
    token_endpoint_auth_method: client.tokenEndpointAuthMethod,
    grant_types: [...client.grantTypes],
    response_types: usesCode ? ['code'] : [],
    redirect_uris: [...client.redirectUris],
    post_logout_redirect_uris: [...client.postLogoutRedirectUris],
    // No `scope`: scopes.ts alone decides what a client may ask for, and in which order it is refused.
    id_token_signed_response_alg: client.idTokenSignedResponseAlg,
  };
}
