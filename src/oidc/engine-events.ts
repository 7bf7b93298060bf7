// The engine's events in the audit trail (tokens issued and refused, wrong client credentials, grants and sessions that ended) and in
// the log (what was refused).
import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import { type Audit, type AuditFields, originOf } from '../observability/audit.ts';
import { StoreUnavailable } from '../store/store.ts';
import { clip, type Log } from '../observability/log.ts';
import { isGrantType, tokenErrorOf } from './answers.ts';

/** Nothing was issued, and what the client sent may be used up. */
export const UNCONFIRMED = 'unconfirmed';

/** By the engine or by the fast path. */
export const recordIssued = (audit: Audit, state: Context['state'], token: AuditFields) =>
  audit.record('token_issued', 'success', { ...originOf(state), ...token });

/** Where a client shows its credentials. */
const CLIENT_ERRORS = ['grant.error', 'introspection.error', 'revocation.error'] as const;

/** `afterwards` runs what it is given once everything is stored: the engine speaks of success before that. */
export function recordEvents(
  provider: Provider,
  audit: Audit,
  afterwards: (action: () => void) => void,
): void {
  provider.on('grant.success', (ctx) => {
    const { AccessToken, ClientCredentials, Client } = ctx.oidc.entities;
    const token = ClientCredentials ?? AccessToken;
    if (token === undefined || Client === undefined) return;
    const issued = {
      client_id: Client.clientId,
      account_id: AccessToken?.accountId,
      grant_type: grantTypeOf(ctx) ?? 'unknown',
      scope: token.scope,
      token_id: token.jti,
    };
    afterwards(() => recordIssued(audit, ctx.state, issued));
  });

  for (const event of CLIENT_ERRORS) {
    // The types know each of these events by its own overload, with the same listener.
    provider.on(event as 'grant.error', (ctx, error) => {
      // Whoever asks waits for a user (RFC 8628 §3.5).
      if (error instanceof errors.AuthorizationPending) return;
      const isClient = error.error === 'invalid_client';
      if (!isClient && event !== 'grant.error') return;
      audit.record(isClient ? 'client_authentication' : 'token_issued', 'failure', {
        ...originOf(ctx.state),
        client_id: ctx.oidc.client?.clientId,
        grant_type: grantTypeOf(ctx),
        endpoint: ctx.oidc.route,
        reason: error instanceof StoreUnavailable ? UNCONFIRMED : clip(tokenErrorOf(ctx, error.message)),
      });
    });
  }

  provider.on('grant.revoked', (ctx) => {
    // It has ended already, whatever becomes of this request.
    audit.record('grant_ended', 'success', {
      ...originOf(ctx.state),
      client_id: ctx.oidc.client?.clientId,
      account_id: ctx.oidc.session?.accountId ?? ctx.oidc.account?.accountId ?? revokedFrom(ctx),
      endpoint: ctx.oidc.route,
    });
  });

  provider.on('end_session.success', (ctx) => {
    // An answer of "stay signed in" also ends here.
    if (ctx.oidc.params?.['logout'] === undefined) return;
    afterwards(() => recordSignOut(audit, ctx));
  });
}

export function recordSignOut(audit: Audit, { state, oidc }: KoaContextWithOIDC, reason?: string): void {
  audit.record('sign_out', 'success', {
    ...originOf(state),
    client_id: oidc.client?.clientId,
    account_id: oidc.session?.accountId,
    reason,
  });
}

/** Whose token a client revoked; the engine looks at no account there. */
const revokedFrom = ({ oidc: { entities } }: KoaContextWithOIDC): string | undefined =>
  (entities.AccessToken ?? entities.RefreshToken)?.accountId;

/** What was asked for, where it is something that exists. */
function grantTypeOf(ctx: KoaContextWithOIDC): string | undefined {
  const asked: unknown = ctx.oidc.params?.['grant_type'];
  return isGrantType(asked) ? asked : undefined;
}

const TOKENS = ['grant', 'userinfo', 'introspection', 'revocation'];
const REFUSALS = ['authorization', ...TOKENS, 'end_session', 'end_session_confirm'];

const ADVICE: Readonly<Record<string, string>> = {
  invalid_client: 'compare with postern client list',
  invalid_redirect_uri: 'add redirectUri to redirect_uris of the client',
};

/** Characters of a client_id that nobody has: enough to see a slip of the pen, and too few of a token in the wrong place. */
const SHOWN = 12;

/**
 * Logs what the engine refused, one line each, so that an operator can find the request that a user or an app developer reports. Never a
 * token, a code or a secret, and of a URI only what is before the query.
 */
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
