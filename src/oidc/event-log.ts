// Logs what the engine refused, one line each, so that an operator can find the request that a user or an app
// developer reports. Never a token, a code or a secret, and of a URI only what is before the query.
import type Provider from 'oidc-provider';
import { errors } from 'oidc-provider';
import { clip, type Log } from '../observability/log.ts';

const TOKENS = ['grant', 'userinfo', 'introspection', 'revocation'];
const REFUSALS = ['authorization', ...TOKENS, 'end_session', 'end_session_confirm'];

const ADVICE: Readonly<Record<string, string>> = {
  invalid_client: 'compare with postern client list',
  invalid_redirect_uri: 'add redirectUri to redirect_uris of the client',
};

/** Characters of a client_id that nobody has: enough to see a slip of the pen, and too few of a token in the wrong place. */
const SHOWN = 12;

export function logEvents(provider: Provider, log: Log): void {
  for (const event of REFUSALS) {
    // The types know each of these events by its own overload, with the same listener.
    provider.on(`${event}.error` as 'grant.error', (ctx, error) => {
      // Whoever asks waits for a user (RFC 8628 §3.5).
      if (error instanceof errors.AuthorizationPending) return;
      const { client, params = {} } = ctx.oidc;
      log.info(
        {
          requestId: ctx.state['requestId'] as unknown,
          clientId: client?.clientId ?? clientNamed(params['client_id']),
          address: ctx.state['clientAddress'] as unknown,
          error: error.message,
          description: error.error_description && clip(error.error_description),
          detail: error.error_detail && clip(error.error_detail),
          advice: ADVICE[error.message],
          redirectUri: toAddress(params['redirect_uri'] ?? params['post_logout_redirect_uri']),
        },
        `${event} refused`,
      );
    });
  }
}

const clientNamed = (id: unknown) => (typeof id === 'string' ? clip(id, SHOWN) : undefined);

/** What an app developer compares with the configuration; nothing of what isn't a URI at all. */
function toAddress(uri: unknown): string | undefined {
  if (typeof uri !== 'string' || !URL.canParse(uri)) return undefined;
  const { protocol, host, pathname } = new URL(uri);
  return clip(`${protocol}//${host}${pathname}`);
}
