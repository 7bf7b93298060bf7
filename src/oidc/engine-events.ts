// The engine's events in the audit trail (tokens issued and refused, wrong client credentials, grants and sessions that ended) and in
// the log (what was refused).
import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import { callerOf } from '../config/endpoints.ts';
import { type Audit, type AuditFields, originOf } from '../observability/audit.ts';
import { StoreUnavailable } from '../store/store.ts';
import { clip } from '../observability/log.ts';
import { isGrantType, tokenErrorOf } from './answers.ts';
import type { App } from './app.ts';

/** Nothing was issued, and what the client sent may be used up. */
export const UNCONFIRMED = 'unconfirmed';

/** By the engine or by the fast path. */
export const recordIssued = (audit: Audit, state: Context['state'], token: AuditFields) =>
  audit.record('token_issued', 'success', { ...originOf(state), ...token });

/** The engine's events `….error` of requests that a user or an app developer may report. */
const REFUSALS = 'authorization grant userinfo introspection revocation end_session end_session_confirm';

/** What has happened is recorded once everything is stored: the engine speaks of success before that. */
export function followEvents(provider: Provider, { audit, log, records: { afterwards } }: App): void {
  // The engine reports the real error of a `server_error` here and nowhere else.
  provider.on('server_error', (ctx, error) => {
    ctx.state['fault'] = error;
  });

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

  for (const event of REFUSALS.split(' ')) {
    // The types know each of these events by its own overload, with the same listener.
    provider.on(`${event}.error` as 'grant.error', (ctx, error) => {
      // Whoever asks waits for a user (RFC 8628 §3.5).
      if (error instanceof errors.AuthorizationPending) return;
      log.info(toLine(ctx, error), `${event} refused`);
      if (callerOf(ctx.oidc.route) === 'client') recordRefused(audit, ctx, error);
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

type Refusal = errors.OIDCProviderError;

/** No token, or at any endpoint for clients wrong credentials. */
function recordRefused(audit: Audit, ctx: KoaContextWithOIDC, error: Refusal): void {
  const { route, client } = ctx.oidc;
  const isClient = error.error === 'invalid_client';
  if (!isClient && route !== 'token') return;
  audit.record(isClient ? 'client_authentication' : 'token_issued', 'failure', {
    ...originOf(ctx.state),
    client_id: client?.clientId,
    grant_type: grantTypeOf(ctx),
    endpoint: route,
    reason: error instanceof StoreUnavailable ? UNCONFIRMED : clip(tokenErrorOf(ctx, error.message)),
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

const ADVICE: Readonly<Record<string, string>> = {
  invalid_client: 'compare with postern client list',
  invalid_redirect_uri: 'add redirectUri to redirect_uris of the client',
};

/** Characters of a client_id that nobody has: enough to see a slip of the pen, and too few of a token in the wrong place. */
const SHOWN = 12;

/** For the log. Never a token, a code or a secret, and of a URI only what is before the query. */
function toLine({ oidc: { client, params = {} }, state }: KoaContextWithOIDC, error: Refusal): object {
  return {
    requestId: state['requestId'] as unknown,
    clientId: client?.clientId ?? clientNamed(params['client_id']),
    address: state['clientAddress'] as unknown,
    error: error.message,
    description: error.error_description && clip(error.error_description),
    detail: error.error_detail && clip(error.error_detail),
    advice: ADVICE[error.message],
    redirectUri: toAddress(params['redirect_uri'] ?? params['post_logout_redirect_uri']),
  };
}

const clientNamed = (id: unknown) => (typeof id === 'string' ? clip(id, SHOWN) : undefined);

/** What an app developer compares with the configuration; nothing of what isn't a URI at all. */
function toAddress(uri: unknown): string | undefined {
  if (typeof uri !== 'string' || !URL.canParse(uri)) return undefined;
  const { protocol, host, pathname } = new URL(uri);
  return clip(`${protocol}//${host}${pathname}`);
}
