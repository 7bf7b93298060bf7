// The audit trail: one JSON line for each security event, appended and never changed. docs/observability.md describes the
// events and their fields.

/** The core's events; docs/observability.md says when each is recorded. Features declare their own. */
export const AUDIT_EVENTS = [
  'sign_in',
  'password_accepted',
  'consent',
  'consent_withdrawn',
  'sign_out',
  'client_authentication',
  'token_issued',
  'token_revoked',
  'grant_ended',
  'account_changed',
  'keys_created',
  'keys_changed',
  'configuration_changed',
  'account_lock',
  'link_used',
  'limit_reached',
  'form_refused',
  'service_started',
  'service_stopped',
] as const;

export type CoreEvent = (typeof AUDIT_EVENTS)[number];

export type Outcome = 'success' | 'failure';

export type Origin = Readonly<{ address?: string | undefined; request_id?: string | undefined }>;

/** Ids and names only; never a token, a code, a secret or a password. */
export type AuditFields = Origin & {
  readonly by?: 'command_line' | 'user' | 'link' | undefined;
  readonly client_id?: string | undefined;
  /** The user's stable id. */
  readonly account_id?: string | undefined;
  readonly grant_type?: string | undefined;
  readonly scope?: string | undefined;
  /** The access token's jti, which is no credential. */
  readonly token_id?: string | undefined;
  readonly reason?: string | undefined;
  readonly action?: string | undefined;
  readonly method?: string | undefined;
  readonly endpoint?: string | undefined;
  /** The setting that denied access, such as `clients[wiki].access`. */
  readonly rule?: string | undefined;
  readonly limit?: string | undefined;
  readonly times?: number | undefined;
  readonly kid?: string | undefined;
  readonly published?: readonly string[] | undefined;
  readonly configuration?: string | undefined;
};

export interface Audit<Event extends string = CoreEvent> {
  record(event: Event, outcome: Outcome, fields: AuditFields): void;
}

const PAUSE_MS = 10_000;
/** A few megabytes. Above it, all are forgotten and recorded anew. */
const MAX_SAID = 10_000;

/**
 * For events that anyone can cause, so that they can't flood the trail. Returns how often one happened since it was last recorded, or
 * undefined if that was less than ten seconds ago.
 */
export function createThrottle(now: () => number) {
  const said = new Map<string, { at: number; times: number }>();
  return function timesToSay(what: string): number | undefined {
    const { at, times } = said.get(what) ?? { at: -Infinity, times: 0 };
    const isDue = now() - at >= PAUSE_MS;
    if (said.size >= MAX_SAID) said.clear();
    said.set(what, isDue ? { at: now(), times: 0 } : { at, times: times + 1 });
    return isDue ? times + 1 : undefined;
  };
}

export function originOf(state: Readonly<Record<string, unknown>>): Origin {
  const { clientAddress, requestId } = state;
  return {
    address: typeof clientAddress === 'string' ? clientAddress : undefined,
    request_id: typeof requestId === 'string' ? requestId : undefined,
  };
}

/** The address by which a request is limited. Without the edge, all requests would share one: throws TypeError. */
export function clientAddressOf({ state }: { readonly state: Readonly<Record<string, unknown>> }): string {
  const { address } = originOf(state);
  if (address === undefined) throw new TypeError('the request has not passed the edge');
  return address;
}
