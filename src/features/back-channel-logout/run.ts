// OIDC Back-Channel Logout 1.0, if an app uses it: records the sessions that end in a request, and sends the logout tokens.
import Provider, { type Client } from 'oidc-provider';
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
    // Also adds `sid` to its ID tokens. Without it, a logout token ends every session of the user at the app.
    uri ? { backchannel_logout_uri: uri, backchannel_logout_session_required: true } : {},
  seam({ Client: { prototype } }) {
    const { ended } = app;
    // The engine's own version makes the user wait for every app, and tries only once.
    prototype['backchannelLogout'] = async function note(this: Client, accountId: string, sid?: string) {
      const { ctx } = Provider;
      // The session also has apps that the user opened but gave no access. A token without `sid` would end all their sessions there.
      if (ctx && sid) ended.note(ctx, { accountId, authorizations: { [this.clientId]: { sid } } });
    };
  },
  job: (provider) => createLogoutSender(app, provider),
});
