// Renders the engine's own pages (sign out, signed out, error) with our templates. interaction/ has sign-in and consent.
import type { ErrorOut, KoaContextWithOIDC } from 'oidc-provider';
import { callerOf, ENDPOINTS } from '../config/endpoints.ts';
import { isLoopbackUrl } from '../config/uri.ts';
import type { PageModels } from '../views/models.ts';
import type { Pages } from '../views/pages.ts';
import { FormRefusal } from '../views/refusal.ts';
import { StoreUnavailable } from '../store/store.ts';
import { clip } from '../observability/log.ts';
import { toUsersClient } from './client-model.ts';
import type { Clients } from './clients.ts';
import { showPage } from './send-page.ts';

/** Errors of an authorization request that only a page can answer, because its client or redirect URI is unknown. */
const UNMATCHED = new Set(['InvalidClient', 'InvalidRedirectUri']);
const UNMATCHED_TEXT = 'the client is unknown, or the redirect_uri is not registered for it';

/** The error for every fault of a sign-out: except with a loopback issuer, no page reveals which clients exist. */
const SIGN_OUT_REFUSED = {
  error: 'invalid_request',
  description: 'the app, its ID token or the address to return to is not known here',
  client: undefined,
};

export type EnginePages = ReturnType<typeof createEnginePages>;

export function createEnginePages(pages: Pages, clients: Clients, issuer: string) {
  const clientModel = async ({ oidc: { client } }: KoaContextWithOIDC) =>
    toUsersClient(await clients.load(client?.clientId), issuer);

  /** Says which of the two is wrong only with a loopback issuer, to the developer. The log always says it. */
  function unmatched(ctx: KoaContextWithOIDC, description: string | undefined): Partial<PageModels['error']> {
    if (!isLoopbackUrl(issuer)) {
      return { appFault: true, error: 'invalid_request', description: UNMATCHED_TEXT, client: undefined };
    }
    const sent = ctx.oidc.params?.['redirect_uri'];
    const said = typeof sent === 'string' ? `${description}; the app sent ${clip(sent)}` : description;
    return { appFault: true, description: said };
  }

  return {
    logoutSource: async (ctx: KoaContextWithOIDC): Promise<void> => {
      const state = ctx.oidc.session?.state as { readonly secret: string } | undefined;
      const model = {
        action: `${issuer}${ENDPOINTS.logout}/confirm`,
        xsrf: state?.secret ?? '',
        client: await clientModel(ctx),
      };
      showPage(ctx, pages, ['logout', model]);
    },

    // The engine doesn't pass on what the user chose; the browser's session shows it.
    postLogoutSuccessSource: async (ctx: KoaContextWithOIDC): Promise<void> => {
      const { accountId } = await ctx.oidc.provider.Session.get(ctx);
      const outcome = accountId === undefined ? 'signed_out' : 'stayed';
      showPage(ctx, pages, ['logged-out', { client: await clientModel(ctx), outcome }]);
    },
    /** Shows that no user was signed in. The engine has finished the request, so no client document is fetched. */
    nobodyToSignOut: (ctx: KoaContextWithOIDC): void => {
      const client = clients.find(ctx.oidc.client?.clientId ?? '');
      showPage(ctx, pages, ['logged-out', { client: toUsersClient(client, issuer), outcome: 'nobody' }]);
    },

    renderError: async (ctx: KoaContextWithOIDC, out: ErrorOut, cause: Error): Promise<void> => {
      // RFC 6749 §5.2: endpoints for programs answer in JSON, whatever the Accept header says.
      if (isForPrograms(ctx.oidc.route)) {
        ctx.body = out;
        return;
      }
      const { error, error_description: description } = out;
      if (cause instanceof StoreUnavailable) return; // http/errors.ts answers 503
      if (description === 'xsrf token invalid')
        throw new FormRefusal('csrf', 'the form was not sent from this browser, or is too old');
      const model = {
        status: ctx.status,
        // A sign-in that is over; http/errors.ts uses the same name.
        error: cause.name === 'SessionNotFound' ? 'expired' : error,
        description,
        requestId: String(ctx.state['requestId'] ?? ''),
        client: await clientModel(ctx),
      };
      const isSignOut = ctx.oidc.route === 'end_session' && !isLoopbackUrl(issuer);
      const said = UNMATCHED.has(cause.name) ? unmatched(ctx, description) : {};
      const shown = { ...model, ...(isSignOut ? SIGN_OUT_REFUSED : said) };
      showPage(ctx, pages, ['error', shown], ctx.status);
    },
  };
}

const isForPrograms = (route: string) => ['client', 'program'].includes(callerOf(route) ?? '');
