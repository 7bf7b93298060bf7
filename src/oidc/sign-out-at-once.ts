// Answers at once where the engine would send a page that submits itself: a sign-out without a signed-in user, and a sign-in as a
// different user. The engine's page is unstyled, and without JavaScript it shows only a button.
import type { Middleware } from 'koa';
import type { KoaContextWithOIDC, Session } from 'oidc-provider';
import { USER_GRANTS } from '../config/endpoints.ts';
import type { App } from './app.ts';
import { recordSignOut } from './engine-events.ts';
import { cookiesOf, setCookies, SIGNED } from './cookie-names.ts';
import type { EnginePages } from './engine-pages.ts';
import { redirectWith } from './send-page.ts';
import { revokeGrantsOf } from './user-sessions.ts';

const POLICY = 'Content-Security-Policy';

/** The routes by which a user returns from the sign-in pages. */
export const RESUMED: ReadonlySet<string> = new Set(USER_GRANTS.map(({ resumes }) => resumes));

type SessionState = { readonly postLogoutRedirectUri?: string } | undefined;

export function signOutAtOnce(app: App): Middleware {
  const { enginePages, audit, records, ended } = app;

  return async function answerAtOnce(hostCtx, next) {
    const policy = hostCtx.response.get(POLICY);
    await next();
    const ctx = hostCtx as unknown as KoaContextWithOIDC;
    const session = ctx.oidc?.session;
    if (session === undefined || ctx.status !== 200) return;
    if (ctx.oidc.route === 'end_session' && session.accountId === undefined) {
      await forget(ctx, session, policy);
      answerNobody(ctx, enginePages);
    } else if (RESUMED.has(ctx.oidc.route)) {
      const resume = ctx.oidc.urlFor(ctx.oidc.route, ctx['params']);
      // A sign-out page that is open in another tab keeps its own URL in the session.
      if ((session.state as SessionState)?.postLogoutRedirectUri !== resume) return;
      // Of two forms sent at once, the one that loses must not end anything.
      await records.flush();
      // Like the engine's confirmation: grants that depend on the session end with it.
      ended.note(ctx, session);
      await revokeGrantsOf(session, app);
      await forget(ctx, session, policy);
      records.afterwards(() => recordSignOut(audit, ctx, 'another_person_signed_in'));
      redirectWith(ctx, resume, {});
    }
  };
}

function answerNobody(ctx: KoaContextWithOIDC, enginePages: EnginePages): void {
  const { post_logout_redirect_uri: uri, state } = ctx.oidc.params ?? {};
  // The engine keeps the URI only if it is registered for the client.
  if (typeof uri !== 'string') return enginePages.nobodyToSignOut(ctx);
  return redirectWith(ctx, uri, typeof state === 'string' ? { state } : {});
}

/** Removes the session, the cookies that this answer would have set for it, and the CSP for the script of the engine's page. */
async function forget(ctx: KoaContextWithOIDC, session: Session, policy: string): Promise<void> {
  // A session without a user was never stored.
  if (session.accountId !== undefined) await session.destroy();
  if (policy !== '') ctx.set(POLICY, policy);
  const name = ctx.oidc.provider.cookieName('session');
  setCookies(
    ctx,
    cookiesOf(ctx).filter((one) => !one.startsWith(name)),
  );
  ctx.cookies.set(name, null, SIGNED);
}
