// The browser's session, for our pages outside an authorization request.
import type { Context } from 'koa';
import { BY_PASSWORD, levelOf } from '../users/authentication-methods.ts';
import { SIGNED } from './cookie-names.ts';
import type { Proved } from './interactions.ts';
import type { EngineApp } from './provider.ts';
import { issuedBySession } from './seam/session-sign-in.ts';

export type BrowserSessions = ReturnType<typeof createBrowserSessions>;
export type BrowserSession = NonNullable<Awaited<ReturnType<BrowserSessions['find']>>>;

export function createBrowserSessions({ provider, levels }: EngineApp) {
  const load = (ctx: Context) => provider.Session.get(ctx);

  return {
    /** Undefined when no user is signed in. `findLive` decides by `issued` whether the user still may be (users/accounts.ts). */
    async find(ctx: Context) {
      const session = await load(ctx);
      const { uid, accountId, amr = BY_PASSWORD, factorAt, sessionsSince = 0 } = session;
      if (accountId === undefined) return undefined;
      return {
        /** Identifies the session; it isn't the cookie. */
        uid,
        accountId,
        issued: issuedBySession(session),
        amr,
        factorAt,
        sessionsSince,
      };
    },
    /** Updates the session when its user proved more, or when only the user's other sessions end. */
    async update(ctx: Context, { amr, ...kept }: Partial<Proved> & { readonly generation?: string }) {
      const session = await load(ctx);
      const acr = amr && levels?.nameOf(levelOf(amr));
      Object.assign(session, kept, amr && { amr: [...amr], acr });
      // A stolen copy of the old cookie must not work for the updated session.
      session.resetIdentifier();
      await session.persist();
      // For unit-of-work.ts; the engine's requests have the session in their context.
      ctx.state['session'] = session;
      const expires = new Date(session.exp * 1000);
      ctx.cookies.set(provider.cookieName('session'), session.jti, { ...SIGNED, expires });
    },
  };
}
