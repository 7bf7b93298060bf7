// Turns the engine's events into audit records: tokens issued and refused, wrong client credentials, grants and sessions that
// ended.
import type { EventEmitter } from 'node:events';
import type Provider from 'oidc-provider';
import { errors } from 'oidc-provider';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { type Audit, createFormRefused, originOf, type Outcome } from '../observability/audit.ts';
import { StoreUnavailable } from '../store/store.ts';
import { clip } from '../observability/log.ts';
import { isGrantType, tokenErrorOf } from './answers.ts';

/** What a record of an issued token says; the same from the engine and from the fast path. */
type IssuedToken = Readonly<{
  clientId: string;
  accountId?: string | undefined;
  grantType: string;
  scope: string | undefined;
  tokenId: string;
}>;

/** Nothing was issued, and what the client sent may be used up. */
export const UNCONFIRMED = 'unconfirmed';

export function recordIssued(
  audit: Audit,
  state: Readonly<Record<string, unknown>>,
  token: IssuedToken,
): void {
  audit.record('token_issued', 'success', {
    ...originOf(state),
    client_id: token.clientId,
    account_id: token.accountId,
    grant_type: token.grantType,
    scope: token.scope,
    token_id: token.tokenId,
  });
}

/** A yes or a no at the page of devices, which nobody is spared by what they allowed before. */
export function recordDevice(
  audit: Audit,
  outcome: Outcome,
  { state, oidc }: KoaContextWithOIDC,
  reason?: string,
): void {
  const { DeviceCode: code } = oidc.entities;
  const who = { client_id: code?.clientId, account_id: oidc.session?.accountId };
  const what = { action: 'device', scope: code?.scope, reason };
  audit.record('consent', outcome, { ...originOf(state), ...who, ...what });
}

/** Where a client shows its credentials. */
const CLIENT_ERRORS = ['grant.error', 'introspection.error', 'revocation.error'] as const;

/** `afterwards` runs what it is given once everything is stored: the engine speaks of success before that. */
export function recordEvents(
  provider: Provider,
  audit: Audit,
  afterwards: (action: () => void) => void,
): void {
  // The types know each of these events by its own overload; a provider is an EventEmitter all the same.
  const events: EventEmitter = provider;

  provider.on('grant.success', (ctx: KoaContextWithOIDC) => {
    const { AccessToken, ClientCredentials, Client } = ctx.oidc.entities;
    const token = ClientCredentials ?? AccessToken;
    if (token === undefined || Client === undefined) return;
    const issued = {
      clientId: Client.clientId,
      accountId: AccessToken?.accountId,
      grantType: grantTypeOf(ctx) ?? 'unknown',
      scope: token.scope,
      tokenId: token.jti,
    };
    afterwards(() => recordIssued(audit, ctx.state, issued));
  });

  for (const event of CLIENT_ERRORS) {
    events.on(event, (ctx: KoaContextWithOIDC, error: Error) => {
      // A device that waits for its user (RFC 8628 §3.5).
      if (error instanceof errors.AuthorizationPending) return;
      const isClient = error instanceof errors.OIDCProviderError && error.error === 'invalid_client';
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

  provider.on('grant.revoked', (ctx: KoaContextWithOIDC) => {
    // It has ended already, whatever becomes of this request.
    audit.record('grant_ended', 'success', {
      ...originOf(ctx.state),
      client_id: ctx.oidc.client?.clientId,
      account_id: ctx.oidc.session?.accountId ?? ctx.oidc.account?.accountId ?? revokedFrom(ctx),
      endpoint: ctx.oidc.route,
    });
  });

  const formRefused = createFormRefused(audit);
  events.on('end_session_confirm.error', ({ state }: KoaContextWithOIDC, error: errors.OIDCProviderError) => {
    if (error.error_description === 'xsrf token invalid') formRefused(state, 'logout', 'csrf');
  });

  provider.on('end_session.success', (ctx: KoaContextWithOIDC) => {
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
