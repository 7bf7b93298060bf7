// What a difference between two configurations means: whether something that works now stops working, and the words for it.
import { isListedDocument } from './client-id-url.ts';
import type { Client, Config } from './config.ts';
import type { Difference } from './diff.ts';
import { formatDuration, formatInstant } from './notation.ts';
import { needsRestart } from './restart.ts';

/** info: worth knowing, nothing changes. change: something changes. breaking: something that works now stops working. */
export type Severity = 'info' | 'change' | 'breaking';

export type PlanItem = {
  readonly severity: Severity;
  /** Where, as `clients[web].redirect_uris`. */
  readonly path: string;
  /** What changes. Never a secret. */
  readonly message: string;
};

/** `now` in epoch seconds. */
type PlanContext = { readonly next: Config; readonly now: number };
type Breaks = (difference: Difference, context: PlanContext) => boolean;

const always: Breaks = () => true;
const never: Breaks = () => false;
const removed: Breaks = ({ kind, to }) => kind === 'removed' || to === undefined;
const off: Breaks = ({ to }) => to === undefined || to === false || to === 0;
const on: Breaks = ({ to }) => to === true;
const notAdded: Breaks = ({ kind }) => kind !== 'added';

/** Which change of a key breaks something; any other is a change. A key without an entry has that of the key above it, within its entry. */
const BREAKS: Readonly<Record<string, Breaks>> = {
  issuer: always,
  store: always,
  encryption_keys: notAdded,
  cookie_keys: notAdded,
  trusted_proxies: removed,
  'cors.allowed_origins': removed,
  'features.client_credentials': off,
  'features.device_flow': off,
  'features.claims_parameter': off,
  'features.response_modes': removed,
  'outgoing.internal_hosts': removed,
  acr: ({ from }) => from !== undefined,
  sign_in: removed,
  'sign_in.passkeys': off,
  'sign_in.one_time_codes': off,
  'sign_in.recovery_codes': off,
  client_documents: removed,
  'resources[]': removed,
  'resources[].scopes': removed,
  'resources[].default_scopes': removed,
  'resources[].clients': removed,
  'resources[].introspection_clients': removed,
  'users[]': removed,
  'users[].username': always,
  'users[].disabled': on,
  'users[].password_hash': removed,
  'clients[]': (difference, { next }) =>
    removed(difference, { next, now: 0 }) && !isListed(difference.from as Client, next),
  'clients[].redirect_uris': removed,
  'clients[].post_logout_redirect_uris': removed,
  'clients[].grant_types': removed,
  'clients[].response_modes': removed,
  'clients[].scope': removed,
  'clients[].default_scope': removed,
  'clients[].allowed_cors_origins': removed,
  'clients[].token_endpoint_auth_method': always,
  'clients[].id_token_signed_response_alg': always,
  'clients[].require_pkce': on,
  'clients[].sign_in': ({ to }) => to !== undefined,
  'clients[].sign_in.require': ({ to }) => to === 'passkey',
  'clients[].sign_in.max_age': never,
  'clients[].client_secrets[]': ({ kind, from }, { now }) =>
    kind === 'removed' && (from as { readonly expiresAt: number }).expiresAt > now,
  'clients[].client_secrets[].expires_at': ({ from, to }, { now }) => Number(to) <= now && Number(from) > now,
  'clients[].client_secrets[].not_before': ({ from, to }, { now }) => Number(to) > now && Number(from) <= now,
};

/** A client that was pinned goes on as its document says. */
const isListed = ({ clientId }: Client, { clientDocuments }: Config) =>
  isListedDocument(clientId, clientDocuments?.hosts ?? []);

export function toItem(difference: Difference, context: PlanContext): PlanItem {
  const isBreaking = breaksOf(difference.rule)(difference, context);
  const when = needsRestart(difference.path) ? '; takes effect at the next start' : '';
  return {
    severity: isBreaking ? 'breaking' : 'change',
    path: difference.path,
    message: `${describe(difference)}${when}`,
  };
}

function breaksOf(key: string): Breaks {
  const own = BREAKS[key];
  if (own !== undefined) return own;
  const above = key.slice(0, Math.max(0, key.lastIndexOf('.')));
  return above === '' || above.endsWith('[]') ? never : breaksOf(above);
}

/** Secret or private: neither value is shown. */
const HIDDEN = /^(store|encryption_keys|cookie_keys|users\[\]\.(password_hash|claims).*)$/;
const DURATIONS =
  /^lifetimes\.|\.access_token$|^signing_keys\.(?!modulus)|^sign_in\.grace$|\.sign_in\.max_age$/;
const INSTANTS = /\.(expires_at|not_before)$/;

function describe({ kind, rule, from, to }: Difference): string {
  const isHidden = HIDDEN.test(rule);
  if (kind === 'changed') return isHidden ? 'changes' : `${show(from, rule)} becomes ${show(to, rule)}`;
  const what = isHidden ? 'one ' : rule.endsWith('[]') ? '' : `${show(kind === 'added' ? to : from, rule)} `;
  return `${what}is ${kind === 'added' ? 'new' : 'removed'}`;
}

function show(value: unknown, rule: string): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'number' && INSTANTS.test(rule))
    return Number.isFinite(value) && value > 0 ? formatInstant(value) : 'no limit';
  if (typeof value === 'number' && DURATIONS.test(rule)) return formatDuration(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}
