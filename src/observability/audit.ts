// The audit trail: one JSON line for each security event, appended and never changed. docs/observability.md describes the
// events and their fields.
import type { Lines } from './lines.ts';

/** Each event, and when there is a record of it. */
export const AUDIT_EVENTS = {
  sign_in: 'A person signed in, or tried to.',
  consent: 'A person allowed an app something, or declined.',
  consent_withdrawn: 'What a person allowed an app was taken back.',
  sign_out: 'A person signed out.',
  client_authentication: 'A client showed credentials that were wrong.',
  token_issued: 'The token endpoint answered with tokens, or refused a grant.',
  token_revoked: 'A client revoked a token.',
  grant_ended: 'A grant and every token of it ended: replay, revocation or sign-out.',
  account_changed:
    'A person was added, disabled, enabled, deleted, signed out everywhere, or has a new password.',
  keys_created:
    'The store was empty, so new signing keys were made: sessions and tokens of an earlier store are void.',
  keys_changed: 'This process signs or verifies with other keys than before.',
  configuration_changed: 'A changed configuration was taken over, or refused.',
  account_lock:
    'Failed sign-ins from unknown places make such places wait for a person (`paced`), or shut them out (`locked`). `times` says how many in a row.',
  browser_trusted: 'A person followed a one-time link, and the browser is a trusted one.',
  limit_reached: 'A limit was reached. Not one record a request: `times` says how many since the last one.',
  service_started: 'This process began to serve.',
  service_stopped: 'This process stopped serving.',
} as const;

export type AuditEvent = keyof typeof AUDIT_EVENTS;
export type Outcome = 'success' | 'failure';

/** Where a request came from. */
export type Origin = { readonly address?: string | undefined; readonly request_id?: string | undefined };

/** Ids and names only; never a token, a code, a secret or a password. */
export type AuditFields = Origin & {
  readonly client_id?: string | undefined;
  /** The person's stable id. */
  readonly account_id?: string | undefined;
  readonly grant_type?: string | undefined;
  readonly scope?: string | undefined;
  /** The access token's jti, which is no credential. */
  readonly token_id?: string | undefined;
  readonly reason?: string | undefined;
  readonly action?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly limit?: string | undefined;
  readonly times?: number | undefined;
  readonly kid?: string | undefined;
  readonly published?: readonly string[] | undefined;
  readonly configuration?: string | undefined;
};

export interface Audit {
  record(event: AuditEvent, outcome: Outcome, fields: AuditFields): void;
}

export type AuditParts = {
  readonly lines: Pick<Lines, 'write'>;
  readonly now: () => number;
  /** Which of several processes this is. */
  readonly worker?: string | undefined;
  readonly onEvent: (event: AuditEvent, outcome: Outcome, fields: AuditFields) => void;
};

export function createAudit({ lines, now, worker, onEvent }: AuditParts): Audit {
  return {
    record(event, outcome, fields) {
      onEvent(event, outcome, fields);
      const time = new Date(now()).toISOString();
      // Members that are undefined are left out.
      lines.write(`${JSON.stringify({ time, event, outcome, ...fields, worker })}\n`);
    },
  };
}

/** What the edge noted of a request. */
export function originOf(state: Readonly<Record<string, unknown>>): Origin {
  const { clientAddress, requestId } = state;
  return {
    address: typeof clientAddress === 'string' ? clientAddress : undefined,
    request_id: typeof requestId === 'string' ? requestId : undefined,
  };
}
