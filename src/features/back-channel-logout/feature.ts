// OIDC Back-Channel Logout 1.0: apps are notified that a session of a user has ended.
import { forUsers } from '../../config/rules.ts';
import { text } from '../../config/text.ts';
import { uriFault } from '../../config/uri.ts';
import type { Declaration } from '../feature.ts';

/** §2.2, but only https. The address behind the name is checked when it is called. */
const logoutUriFault = uriFault(
  // URL normalizes every spelling of an address.
  (url, uri) => url.protocol === 'https:' && !uri.includes('#') && !/^\[|^[\d.]+$/.test(url.hostname),
  'must be an https URL with a host name instead of an IP address, and without a fragment or user name (OIDC Back-Channel Logout §2.2)',
);

type Settings = { readonly clients: readonly { readonly backchannelLogoutUri?: string | undefined }[] };

export const backChannelLogout = {
  name: 'back-channel-logout',
  client: {
    backchannel_logout_uri: text(logoutUriFault)
      .optional()
      .describe(
        "https URL of the app's server that is notified when a session ends (OIDC Back-Channel Logout). Adds sid to its ID tokens.",
      ),
  },
  clientRules: [forUsers('backchannel_logout_uri')],
  audit: ['app_logout'],
  metrics: {
    outgoing_calls: [
      "Calls to apps' logout receivers that wait for their first try, or failed and are tried again.",
      'state',
    ],
  },
  isOn: ({ clients }: Settings) => clients.some(({ backchannelLogoutUri }) => backchannelLogoutUri),
} as const satisfies Declaration;
