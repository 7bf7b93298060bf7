// The look-up of a client: one of the file, or one whose document is fetched. What a request has loaded stays the same for all of it. To
// the engine a client is metadata (RFC 7591) without secrets, of which it would keep one in the clear (see client-authentication.ts).
import type { Context, Next } from 'koa';
import Provider, { type Adapter, type ClientMetadata } from 'oidc-provider';
import type { Asker, ClientDocuments, DocumentUse } from '../client-documents/documents.ts';
import type { Client } from '../config/config.ts';
import { ENDPOINTS } from '../config/endpoints.ts';
import { joinParts } from '../features/index.ts';
import type { Parts } from '../features/parts.ts';

export type Clients = ReturnType<typeof createClientLookup>;

/** `documents`: undefined where none are fetched. */
export function createClientLookup(clients: readonly Client[], documents: ClientDocuments | undefined) {
  const ofFile = new Map(clients.map((client) => [client.clientId, client]));
  /** What each request has loaded. */
  const requests = new WeakMap<object, Map<string, Client>>();
  const isListed = (clientId: string) => !ofFile.has(clientId) && documents?.isListed(clientId) === true;

  async function loadFor(ctx: Pick<Context, 'state'>, clientId: string, use: DocumentUse) {
    const loaded = requests.get(ctx) ?? new Map<string, Client>();
    requests.set(ctx, loaded);
    const { clientAddress: address, browser } = ctx.state as { clientAddress: string } & Pick<
      Asker,
      'browser'
    >;
    const client = loaded.get(clientId) ?? (await documents?.load(clientId, use, { address, browser }));
    if (client !== undefined) loaded.set(clientId, client);
    return client;
  }

  return {
    /** One of the file: for the fast path, for hooks of the engine that can't wait, and where nothing may be fetched. */
    find: (clientId: string) => ofFile.get(clientId),
    /** Also one that nobody registered, whose document may have to be fetched. Throws what the host answers (429, 503). */
    load: async (clientId = '') => {
      if (!isListed(clientId)) return ofFile.get(clientId);
      const { ctx } = Provider;
      if (ctx) return loadFor(ctx, clientId, useAt(ctx.oidc.route));
      return documents?.load(clientId, 'continue', { address: '' });
    },
    /** Loads the client of an authorization request before the engine looks at it, and keeps one that got a token. */
    prepare: async (ctx: Context, next: Next): Promise<void> => {
      const { client_id: clientId } = ctx.query;
      const begins = ctx.path === ENDPOINTS.authorization && typeof clientId === 'string';
      if (begins && isListed(clientId)) await loadFor(ctx, clientId, 'begin');
      await next();
      if (ctx.path !== ENDPOINTS.token || ctx.status !== 200) return;
      // A code may be used up already. Where the document can't be kept now, the next refresh does it.
      const loaded = [...(requests.get(ctx)?.keys() ?? [])];
      await Promise.allSettled(loaded.map(async (one) => documents?.keep(one)));
    },
  };
}

const ENDING = new Set(['revocation', 'end_session', 'end_session_confirm', 'end_session_success']);

function useAt(route: string): DocumentUse {
  if (route === 'authorization') return 'begin';
  return ENDING.has(route) ? 'end' : 'continue';
}

/** `adapter`, where the engine finds all its clients. */
export function withConfiguredClients(
  adapter: Adapter,
  clients: Clients,
  metadataOf: (client: Client) => ClientMetadata,
): Adapter {
  return {
    ...adapter,
    async find(id) {
      const client = await clients.load(id);
      return client && metadataOf(client);
    },
  };
}

/** Those that have to hear of the end of their sessions: where, by id. */
export const logoutClientsOf = (clients: readonly Client[]): ReadonlyMap<string, string> =>
  new Map(clients.flatMap(({ clientId, backchannelLogoutUri: uri }) => (uri ? [[clientId, uri]] : [])));

/** Never compared: the engine only wants to see that a confidential client has a secret. */
const PLACEHOLDER_SECRET = 'kept-elsewhere';

/** With what the features say of it. */
export const clientMetadataOf =
  (features: readonly Parts[]) =>
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
    ...(client.backchannelLogoutUri !== undefined && {
      backchannel_logout_uri: client.backchannelLogoutUri,
      // In its ID tokens, too: without `sid` a logout token ends every session of the user at the app.
      backchannel_logout_session_required: true,
    }),
    // No `scope`: what a client may ask for, and in which order it is refused, is decided in scopes.ts alone.
    id_token_signed_response_alg: client.idTokenSignedResponseAlg,
  };
}
