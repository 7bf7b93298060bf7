// OIDC Back-Channel Logout 1.0 as the engine takes part in it: which sessions end in a request, and the logout token that an app gets.
import { randomUUID } from 'node:crypto';
import type { Context, Next } from 'koa';
import type Provider from 'oidc-provider';
import type { KoaContextWithOIDC, Session } from 'oidc-provider';
import type { App } from './app.ts';
import { logoutClientsOf } from './clients.ts';
import { type EndedSession, endedSessionsOf } from './logout-jobs.ts';

/** Back-Channel Logout §2.4. */
const EVENT = 'http://schemas.openid.net/event/backchannel-logout';

export type Logouts = ReturnType<typeof createLogouts>;

type LogoutsParts = Pick<App, 'config' | 'outgoing' | 'logoutJobs'>;

export function createLogouts({ config, outgoing, logoutJobs }: LogoutsParts, provider: Provider) {
  const logoutClients = logoutClientsOf(config.clients);
  const noted = new WeakMap<object, EndedSession[]>();

  /** What ends in this request: sessions at one app, or all of one session. */
  function note(ctx: object, ...ended: readonly EndedSession[]): void {
    noted.set(ctx, [...(noted.get(ctx) ?? []), ...ended]);
  }

  return {
    /** Whether any client has to hear of it. */
    areUsed: logoutClients.size > 0,
    note,
    noteAll: (ctx: KoaContextWithOIDC, session: Session) =>
      note(ctx, ...endedSessionsOf(session, logoutClients)),
    /** Stores what was noted before the session itself ends: nothing is forgotten, and nobody waits for an app. */
    queue: async (ctx: Context, next: Next): Promise<void> => {
      await next();
      const ended = noted.get(ctx);
      if (ended !== undefined) await logoutJobs.add(ended);
    },
    /** Whether it is a client of this configuration that has to hear of it. */
    mustHear: (clientId: string) => logoutClients.has(clientId),
    /** Sends a new logout token, for two minutes, and resolves the status of the answer. Throws OutgoingRefused. */
    async send({ clientId, accountId, sid }: EndedSession): Promise<number | undefined> {
      const uri = logoutClients.get(clientId);
      if (uri === undefined) return undefined;
      const client = await provider.Client.find(clientId);
      const token = new provider.IdToken({ sub: accountId }, { client, ctx: undefined });
      Object.assign(token, { mask: { sub: null } });
      token.set('events', { [EVENT]: {} });
      token.set('jti', randomUUID());
      token.set('sid', sid);
      const { status } = await outgoing.request(uri, {
        method: 'POST',
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ logout_token: await token.issue({ use: 'logout' }) }).toString(),
        deadlineMs: 2000,
        maxBytes: 0,
        readsBody: () => false,
      });
      return status;
    },
  };
}
