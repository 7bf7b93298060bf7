// OIDC Back-Channel Logout 1.0 where an app wants it: which sessions end in a request, and who sends the logout tokens.
import Engine, { type Client } from 'oidc-provider';
import type { Config } from '../../config/config.ts';
import type { App, Process } from '../../oidc/app.ts';
import type { SessionEnds } from '../../oidc/ended-sessions.ts';
import type { Parts } from '../parts.ts';
import { createLogoutJobs, createLogoutSender } from './sender.ts';

export const sessionEnds = ({ clients }: Config, { store }: Process): SessionEnds => ({
  clientIds: new Set(clients.flatMap(({ clientId, backchannelLogoutUri: uri }) => (uri ? [clientId] : []))),
  add: async (ended) => createLogoutJobs(store).add(ended),
});

export const open = (app: App): Parts => ({
  guard: { isPlain: () => true },
  engine: { features: { backchannelLogout: { enabled: true } } },
  clientMetadata: ({ backchannelLogoutUri: uri }) =>
    // With `sid` in its ID tokens, too: without it a logout token ends every session of the user at the app.
    uri ? { backchannel_logout_uri: uri, backchannel_logout_session_required: true } : {},
  seam({ Client: { prototype } }) {
    const { ended } = app;
    // The engine's own version lets the user wait for every app, and tries once.
    prototype['backchannelLogout'] = async function note(this: Client, accountId: string, sid?: string) {
      const { ctx } = Engine;
      // The session also knows an app that the user opened and allowed nothing. A token without `sid` would end all their sessions there.
      if (ctx && sid) ended.note(ctx, { accountId, authorizations: { [this.clientId]: { sid } } });
    };
  },
  job: (provider) => createLogoutSender(app, provider),
});
