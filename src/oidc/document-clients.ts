// Finds a client: one of the file, or one whose document is fetched. What a request has loaded stays the same for all of it, and is
// then there without waiting.
import type { Context, Middleware } from 'koa';
import Provider, { type Adapter, type AdapterPayload } from 'oidc-provider';
import type { ClientDocuments, DocumentUse } from '../client-documents/documents.ts';
import type { Client } from '../config/config.ts';
import { ENDPOINTS } from '../config/endpoints.ts';
import { type FindClient, type LoadClient, toClientMetadata } from './clients.ts';

export type ClientLookup = {
  /** Of a client that nobody registered only after `load` in the same request. */
  readonly find: FindClient;
  /** Throws what the host answers (429, 503). */
  readonly load: LoadClient;
  readonly isPublic: (clientId: string) => boolean;
  /** Loads the client of an authorization request before the engine looks at it, and keeps one that got a token. */
  readonly prepare: Middleware;
};

type Loading = {
  readonly asked: Map<string, Promise<Client | undefined>>;
  readonly found: Map<string, Client>;
};

/** `documents`: undefined where none are fetched. */
export function createClientLookup(
  clients: readonly Client[],
  documents: ClientDocuments | undefined,
): ClientLookup {
  const ofFile = new Map(clients.map((client) => [client.clientId, client]));
  const requests = new WeakMap<object, Loading>();
  const isListed = (clientId: string) => !ofFile.has(clientId) && documents?.isListed(clientId) === true;

  function loadingOf(ctx: object): Loading {
    const known = requests.get(ctx) ?? { asked: new Map(), found: new Map() };
    requests.set(ctx, known);
    return known;
  }

  async function ask({ found }: Loading, clientId: string, use: DocumentUse, address: string) {
    const client = await documents?.load(clientId, use, address);
    if (client !== undefined) found.set(clientId, client);
    return client;
  }

  /** Once a request: a refused or limited one would be counted twice. */
  function loadFor(ctx: Pick<Context, 'state'>, clientId: string, use: DocumentUse) {
    const loading = loadingOf(ctx);
    const asked =
      loading.asked.get(clientId) ?? ask(loading, clientId, use, String(ctx.state['clientAddress']));
    loading.asked.set(clientId, asked);
    return asked;
  }

  function find(clientId: string): Client | undefined {
    const { ctx } = Provider;
    return ofFile.get(clientId) ?? (ctx && requests.get(ctx)?.found.get(clientId));
  }

  return {
    find,
    async load(clientId) {
      if (!isListed(clientId)) return ofFile.get(clientId);
      const { ctx } = Provider;
      return ctx === undefined
        ? documents?.load(clientId, 'continue', '')
        : loadFor(ctx, clientId, useAt(ctx.oidc.route));
    },
    isPublic: (clientId) => find(clientId)?.tokenEndpointAuthMethod === 'none' || isListed(clientId),
    async prepare(ctx, next) {
      const { client_id: clientId } = ctx.query;
      const begins = ctx.path === ENDPOINTS.authorization && typeof clientId === 'string';
      if (begins && isListed(clientId)) await loadFor(ctx, clientId, 'begin');
      await next();
      if (ctx.path !== ENDPOINTS.token || ctx.status !== 200) return;
      // A code may be used up already. Where the document can't be kept now, the next refresh does it.
      const loaded = [...(requests.get(ctx)?.found.keys() ?? [])];
      await Promise.allSettled(loaded.map(async (one) => documents?.keep(one)));
    },
  };
}

const ENDING = new Set(['revocation', 'end_session', 'end_session_confirm', 'end_session_success']);

function useAt(route: string): DocumentUse {
  if (route === 'authorization') return 'begin';
  return ENDING.has(route) ? 'end' : 'continue';
}

/** `adapter`, where the engine finds clients, and nothing of a client that can't be found right now is read, so nothing is used up. */
export function withDocumentClients(model: string, adapter: Adapter, load: LoadClient): Adapter {
  if (model === 'Client') {
    return {
      ...adapter,
      async find(id) {
        const client = await load(id);
        return client && toClientMetadata(client);
      },
    };
  }
  if (model !== 'Interaction') return adapter;
  return {
    ...adapter,
    async find(id) {
      const payload = await adapter.find(id);
      await load(clientIdOf(payload));
      return payload;
    },
  };
}

function clientIdOf(payload: AdapterPayload | undefined | void): string {
  const { client_id: clientId } = (payload?.params ?? {}) as { readonly client_id?: unknown };
  return typeof clientId === 'string' ? clientId : '';
}
