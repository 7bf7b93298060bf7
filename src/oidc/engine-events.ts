// Records the engine's events in the audit trail (tokens issued and refused, wrong client credentials, ended grants and sessions), and
// logs refusals.
import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import { callerOf } from '../config/endpoints.ts';
import { type Audit, type AuditFields, originOf } from '../observability/audit.ts';
import { StoreUnavailable } from '../store/store.ts';
import { clip } from '../observability/log.ts';
import { isGrantType, tokenErrorOf } from './answers.ts';
import type { App } from './app.ts';

/** Nothing was issued, and the client's code or token may be used up. */
export const UNCONFIRMED = 'unconfirmed';

export const recordIssued = (audit: Audit, state: Context['state'], token: AuditFields) =>
  audit.record('token_issued', 'success', { ...originOf(state), ...token });

/** The engine's events `….error` that a user or an app developer may report. */
const REFUSALS = 'authorization grant userinfo introspection revocation end_session end_session_confirm';

/** Records successes only once everything is stored: the engine emits them earlier. */
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
    // The types have an overload for each of these events, with the same listener.
    provider.on(`${event}.error` as 'grant.error', (ctx, error) => {
      // The device still waits for its user (RFC 8628 §3.5).
      if (error instanceof errors.AuthorizationPending) return;
      log.info(toLine(ctx, error), `${event} refused`);
      if (callerOf(ctx.oidc.route) === 'client') recordRefused(audit, ctx, error);
    });
  }

  provider.on('grant.revoked', (ctx) => {
    // The grant has already ended, even if this request fails.
    audit.record('grant_ended', 'success', {
      ...originOf(ctx.state),
      client_id: ctx.oidc.client?.clientId,
      account_id: ctx.oidc.session?.accountId ?? ctx.oidc.account?.accountId ?? revokedFrom(ctx),
      endpoint: ctx.oidc.route,
    });
  });

  provider.on('end_session.success', (ctx) => {
    // The engine also emits this when the user chooses to stay signed in.
    if (ctx.oidc.params?.['logout'] === undefined) return;
    afterwards(() => recordSignOut(audit, ctx));
  });
}

type Refusal = errors.OIDCProviderError;

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

/** The user whose token a client revoked; the engine loads no account there. */
const revokedFrom = ({ oidc: { entities } }: KoaContextWithOIDC): string | undefined =>
  (entities.AccessToken ?? entities.RefreshToken)?.accountId;

function grantTypeOf(ctx: KoaContextWithOIDC): string | undefined {
  const asked: unknown = ctx.oidc.params?.['grant_type'];
  return isGrantType(asked) ? asked : undefined;
}

const ADVICE: Readonly<Record<string, string>> = {
  invalid_client: 'compare with postern client list',
  invalid_redirect_uri: 'add redirectUri to redirect_uris of the client',
};

/** Logged characters of an unknown client_id: enough to spot a typo, too few to leak a token in the wrong place. */
const SHOWN = 12;

/** The fields of a log line: never a token, a code, a secret or the query of a URI. */
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

/** The URI that an app developer compares with the configuration; undefined for anything else. */
function toAddress(uri: unknown): string | undefined {
  if (typeof uri !== 'string' || !URL.canParse(uri)) return undefined;
  const { protocol, host, pathname } = new URL(uri);
  return clip(`${protocol}//${host}${pathname}`);
}
