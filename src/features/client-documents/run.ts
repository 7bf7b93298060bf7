// Clients with metadata documents, if the file lists hosts for them. A client that a request has loaded stays the same during the request.
import type { Context, Middleware } from 'koa';
import Provider from 'oidc-provider';
import type { Client } from '../../config/config.ts';
import { ENDPOINTS } from '../../config/endpoints.ts';
import type { App } from '../../oidc/app.ts';
import { cookieNames } from '../../oidc/cookie-names.ts';
import type { Parts } from '../parts.ts';
import { type Asker, createClientDocuments, type DocumentUse } from './documents.ts';
import { vetClientDocument } from './vet.ts';

export function open(app: App): Parts {
  const { hosts = [], scope = [] } = app.config.clientDocuments ?? {};
  const documents = createClientDocuments({
    ...app,
    hosts,
    vet: (document) => vetClientDocument(document, scope),
  });
  const isListed = (clientId: string) =>
    app.clients.find(clientId) === undefined && documents.isListed(clientId);
  /** The clients that each request has loaded. */
  const requests = new WeakMap<object, Map<string, Client>>();

  async function loadFor(ctx: Pick<Context, 'state'>, clientId: string, use: DocumentUse) {
    const loaded = requests.get(ctx) ?? new Map<string, Client>();
    requests.set(ctx, loaded);
    const { clientAddress, browser } = ctx.state as Pick<Asker, 'browser'> & { clientAddress: string };
    const asker = { address: clientAddress, browser };
    const client = loaded.get(clientId) ?? (await documents.load(clientId, use, asker));
    if (client !== undefined) loaded.set(clientId, client);
    return client;
  }

  /** Loads the client of an authorization request before the engine reads it, and keeps the documents of clients that got a token. */
  const prepare =
    (provider: Provider): Middleware =>
    async (ctx, next) => {
      const device = ctx.cookies.get(cookieNames(app.issuer).device, { signed: false }) ?? '';
      // Resolves the user or the trusted browser. Their documents are fetched even while strangers name many.
      ctx.state['browser'] = async () =>
        (await provider.Session.get(ctx)).accountId ?? app.trustedBrowsers.findAny(device);
      const { client_id: clientId } = ctx.query;
      const begins = ctx.path === ENDPOINTS.authorization && typeof clientId === 'string';
      if (begins && isListed(clientId)) await loadFor(ctx, clientId, 'begin');
      await next();
      if (ctx.path !== ENDPOINTS.token || ctx.status !== 200) return;
      // Doesn't fail, because a code may be used up already. If the document can't be kept now, the next refresh keeps it.
      const loaded = [...(requests.get(ctx)?.keys() ?? [])];
      await Promise.allSettled(loaded.map(async (one) => documents.keep(one)));
    };

  return {
    clients: async (clientId) => {
      const { ctx } = Provider;
      if (ctx && documents.isListed(clientId)) return loadFor(ctx, clientId, useAt(ctx.oidc.route));
      return documents.load(clientId, 'continue', { address: '' });
    },
    around: prepare,
    guard: { isPlain: () => true },
    // Draft §6. The engine's own feature is off, because it would fetch and remember documents by itself.
    discovery: { client_id_metadata_document_supported: true },
  };
}

const ENDING = new Set(['revocation', 'end_session', 'end_session_confirm', 'end_session_success']);

function useAt(route: string): DocumentUse {
  if (route === 'authorization') return 'begin';
  return ENDING.has(route) ? 'end' : 'continue';
}
