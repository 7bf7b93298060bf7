// Finds a client: one of the file, or one whose document is fetched. What a request has loaded stays the same for all of it.
import type { Context, Next } from 'koa';
import Provider, { type Adapter } from 'oidc-provider';
import type { ClientDocuments, DocumentUse } from '../client-documents/documents.ts';
import type { Client } from '../config/config.ts';
import { ENDPOINTS } from '../config/endpoints.ts';
import { toClientMetadata } from './clients.ts';

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
    const client =
      loaded.get(clientId) ?? (await documents?.load(clientId, use, String(ctx.state['clientAddress'])));
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
      return ctx === undefined
        ? documents?.load(clientId, 'continue', '')
        : loadFor(ctx, clientId, useAt(ctx.oidc.route));
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

/** `adapter`, where the engine finds clients that it doesn't know from its configuration. */
export function withDocumentClients(adapter: Adapter, clients: Clients): Adapter {
  return {
    ...adapter,
    async find(id) {
      const client = await clients.load(id);
      return client && toClientMetadata(client);
    },
  };
}
