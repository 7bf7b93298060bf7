// The session of a browser, for pages of ours that belong to no authorization request.
import type { Context } from 'koa';
import { BY_PASSWORD, levelOf } from '../users/authentication-methods.ts';
import { SIGNED } from './cookie-names.ts';
import type { Proved } from './interactions.ts';
import type { Engine } from './provider.ts';
import { issuedBySession } from './seam/session-sign-in.ts';

export type BrowserSessions = ReturnType<typeof createBrowserSessions>;
export type BrowserSession = NonNullable<Awaited<ReturnType<BrowserSessions['find']>>>;

export function createBrowserSessions({ provider, levels }: Engine) {
  const load = (ctx: Context) => provider.Session.get(ctx);

  return {
    /** Undefined: nobody is signed in. Whether the user still may be is `issued`'s to say (users/accounts.ts). */
    async find(ctx: Context) {
      const session = await load(ctx);
      const { uid, accountId, amr = BY_PASSWORD, factorAt, sessionsSince = 0 } = session;
      if (accountId === undefined) return undefined;
      return {
        /** Names the session, and isn't its cookie. */
        uid,
        accountId,
        issued: issuedBySession(session),
        amr,
        factorAt,
        sessionsSince,
      };
    },
    /** The same user proved more, or goes on where their other sessions end. */
    async update(ctx: Context, { amr, ...kept }: Partial<Proved> & { readonly generation?: string }) {
      const session = await load(ctx);
      const acr = amr && levels?.nameOf(levelOf(amr));
      Object.assign(session, kept, amr && { amr: [...amr], acr });
      // Anyone else who knew the session's cookie doesn't go on with what it is now.
      session.resetIdentifier();
      await session.persist();
      // For unit-of-work.ts; the engine has its own in its context.
      ctx.state['session'] = session;
      const expires = new Date(session.exp * 1000);
      ctx.cookies.set(provider.cookieName('session'), session.jti, { ...SIGNED, expires });
    },
  };
}
