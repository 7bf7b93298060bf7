// Answers at once where the engine would send a page that submits itself: a sign-out without a session, and a sign-in as a
// different user. The engine's page is unstyled, and a dead end of one button without JavaScript.
import type { Middleware } from 'koa';
import type { KoaContextWithOIDC, Session } from 'oidc-provider';
import { USER_GRANTS } from '../config/grants.ts';
import type { App } from './app.ts';
import { recordSignOut } from './engine-events.ts';
import { cookiesOf, setCookies, SIGNED } from './cookie-names.ts';
import type { EnginePages } from './engine-pages.ts';
import { redirectWith } from './send-page.ts';
import { revokeGrantsOf } from './user-sessions.ts';

const POLICY = 'Content-Security-Policy';

/** Where a user comes back from the pages of a sign-in. */
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
      // A sign-out page that is open in another tab keeps an address of its own in the session.
      if ((session.state as SessionState)?.postLogoutRedirectUri !== resume) return;
      // Of two forms at once, the one that loses ends nothing.
      await records.flush();
      // As the engine's confirmation does: what lives with the session ends with it.
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
  // The engine has left it only when it is registered for the client.
  if (typeof uri !== 'string') return enginePages.nobodyToSignOut(ctx);
  return redirectWith(ctx, uri, typeof state === 'string' ? { state } : {});
}

/** The session, the cookies that this answer would have set for it, and the script that its page would have run. */
async function forget(ctx: KoaContextWithOIDC, session: Session, policy: string): Promise<void> {
  // One to which nobody has signed in was never stored.
  if (session.accountId !== undefined) await session.destroy();
  if (policy !== '') ctx.set(POLICY, policy);
  const name = ctx.oidc.provider.cookieName('session');
  setCookies(
    ctx,
    cookiesOf(ctx).filter((one) => !one.startsWith(name)),
  );
  ctx.cookies.set(name, null, SIGNED);
}
