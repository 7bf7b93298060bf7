// OIDC Back-Channel Logout 1.0 as the engine takes part in it: which sessions end in a request, and the logout token that an app gets.
import { randomUUID } from 'node:crypto';
import type { Context, Next } from 'koa';
import type Provider from 'oidc-provider';
import type { KoaContextWithOIDC, Session } from 'oidc-provider';
import type { Config } from '../config/config.ts';
import { type Clients, logoutClientsOf } from './clients.ts';
import { type EndedSession, endedSessionsOf, type LogoutJobs } from './logout-jobs.ts';

/** Back-Channel Logout §2.4. */
const EVENT = 'http://schemas.openid.net/event/backchannel-logout';

export type Logouts = ReturnType<typeof createLogouts>;

export type LogoutsParts = {
  readonly config: Config;
  readonly provider: Provider;
  readonly clients: Clients;
  readonly logoutJobs: Pick<LogoutJobs, 'add'>;
};

export function createLogouts({ config, provider, clients, logoutJobs }: LogoutsParts) {
  const logoutClients = logoutClientsOf(config);
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
    /** Undefined: not a client of this configuration, or not one that wants to hear of it. */
    uriOf: (clientId: string) => clients.find(clientId)?.backchannelLogoutUri,
    /** A new logout token, for two minutes. */
    async sign({ clientId, accountId, sid }: EndedSession): Promise<string> {
      const client = await provider.Client.find(clientId);
      const token = new provider.IdToken({ sub: accountId }, { client, ctx: undefined });
      Object.assign(token, { mask: { sub: null } });
      token.set('events', { [EVENT]: {} });
      token.set('jti', randomUUID());
      token.set('sid', sid);
      return token.issue({ use: 'logout' });
    },
  };
}
