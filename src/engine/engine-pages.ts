// The engine's own pages (sign out, signed out, error) through our templates. Owns the step from the engine's context
// to a page model; sign-in and consent are interaction/'s.
import type { Client as EngineClient, ErrorOut, KoaContextWithOIDC } from 'oidc-provider';
import { ENDPOINTS } from '../config/endpoints.ts';
import type { ClientModel } from '../pages/models.ts';
import type { Pages } from '../pages/pages.ts';
import { StoreUnavailable } from '../store/store.ts';

/** Routes that programs call: their errors are JSON whatever the Accept header says (RFC 6749 §5.2). */
const JSON_ROUTES = new Set(['token', 'userinfo', 'introspection', 'revocation', 'jwks', 'discovery']);

export function toClientModel(client: EngineClient): ClientModel {
  return {
    id: client.clientId,
    name: client.clientName ?? client.clientId,
    logoUri: client.logoUri,
    clientUri: client.clientUri,
    policyUri: client.policyUri,
    tosUri: client.tosUri,
  };
}

type Render = (ctx: KoaContextWithOIDC) => void;

export type EnginePages = {
  readonly logoutSource: Render;
  readonly postLogoutSuccessSource: Render;
  readonly renderError: (ctx: KoaContextWithOIDC, out: ErrorOut, error: Error) => void;
};

const LOCALE = { locale: 'en' };

export function createEnginePages(pages: Pages, issuer: string): EnginePages {
  return {
    logoutSource(ctx) {
      const { session, client } = ctx.oidc;
      const state = session?.state as { readonly secret: string } | undefined;
      const model = {
        action: `${issuer}${ENDPOINTS.logout}/confirm`,
        xsrf: state?.secret ?? '',
        client: client && toClientModel(client),
      };
      html(ctx, pages.render('logout', model, LOCALE));
    },

    postLogoutSuccessSource(ctx) {
      const { client } = ctx.oidc;
      html(ctx, pages.render('logged-out', { client: client && toClientModel(client) }, LOCALE));
    },

    renderError(ctx, { error, error_description: description }, cause) {
      if (JSON_ROUTES.has(ctx.oidc.route)) {
        ctx.body = { error, error_description: description };
        return;
      }
      if (cause instanceof StoreUnavailable) return; // http/errors.ts answers 503
      const requestId = String(ctx.state['requestId'] ?? '');
      html(ctx, pages.render('error', { status: ctx.status, error, description, requestId }, LOCALE));
    },
  };
}

function html(ctx: KoaContextWithOIDC, body: string): void {
  ctx.type = 'html';
  ctx.body = body;
}
