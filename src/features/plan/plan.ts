// What a new configuration would change, and which users lose or gain access.
import { relative } from 'node:path';
import type { ClientSecret, StoreConfig } from '../../config/config.ts';
import { type Difference, differences } from './diff.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { formatInstant } from '../../config/notation.ts';
import { isRecord } from '../../config/parse-fields.ts';
import { type PlanItem, planUsers, type StoredUsers } from './users.ts';
import { needsRestart } from '../../config/restart.ts';
import { secretId } from '../../config/secret-strength.ts';

export type Plan = Readonly<{ result: 'nothing' | 'changes' | 'breaking'; items: readonly PlanItem[] }>;

export type PlanSide = Pick<LoadedConfig, 'config' | 'generatedKeys'> & {
  /** The folder of its file. The same relative path on both sides is no difference. */
  readonly folder: string;
  /** Only for the current side. Undefined if nothing changes for users; a reason if the store couldn't be read. */
  readonly stored?: StoredUsers | { readonly unknown: string } | undefined;
};

/** The changes from `current` to `next` at `now`, in epoch seconds. */
export function toPlan(current: PlanSide, next: PlanSide, now: number): Plan {
  const { stored } = current;
  const isUnknown = stored !== undefined && 'unknown' in stored;
  const items: PlanItem[] = [
    ...differences(comparable(current, now), comparable(next, now)).map(toItem),
    ...planUsers(current.config, next.config, isUnknown ? undefined : stored),
  ];
  const message = isUnknown && `could not check which users lose access: ${stored.unknown}`;
  if (message) items.push({ severity: 'info', path: 'store', message });
  const has = (severity: PlanItem['severity']) => items.some((one) => one.severity === severity);
  return { result: has('breaking') ? 'breaking' : has('change') ? 'changes' : 'nothing', items };
}

/** Keys for which every change is breaking. */
const ALWAYS =
  /^(issuer|store|users\[\]\.id|clients\[\]\.(token_endpoint_auth_method|id_token_signed_response_alg))$/;
/** Keys that are breaking to turn on or restrict. */
const STRICTER =
  /^(users\[\]\.disabled|sign_in\.enrolment|clients\[\]\.(require_pkce|id_token_claims|sign_in(\.require)?))$/;
const LAX: readonly unknown[] = [undefined, false, 'second_factor', 'self', 'full'];
/** Keys that are breaking to remove or turn off. */
const NEEDED =
  /^((encryption|cookie)_keys|trusted_proxies|account|management\.hosts|(cors|features|outgoing|client_documents|mail|sign_in)\b.*|(clients|resources|users|scopes)\[\]|users\[\]\.password_hash|scopes\[\]\.claims|resources\[\]\.(.*scopes|.*clients|access_token_claims)|clients\[\]\.(.*redirect_uris|grant_types|response_modes|(default_)?scope|backchannel_logout_uri))$/;
const OFF: readonly unknown[] = [undefined, false, 0];
/** Keys with a list of what is allowed. Another value, or none, allows everything. */
const ALLOWED = /^(mail\.sign_up\.domains|clients\[\]\.groups_claim)$/;

function isBreaking({ rule, from, to }: Difference): boolean {
  if (ALWAYS.test(rule)) return true;
  if (STRICTER.test(rule)) return !LAX.includes(to);
  if (ALLOWED.test(rule)) return Array.isArray(to) || (to === undefined && !Array.isArray(from));
  if (rule === 'clients[].client_secrets[]') return isNarrower(from, to);
  if (rule === 'sign_in.grace') return Number(to) < Number(from);
  return OFF.includes(to) && NEEDED.test(rule);
}

function isNarrower(from: unknown, to: unknown): boolean {
  const [, opened, closed = ''] = String(from).split(/^valid | to /);
  const [, opens, closes = ''] = String(to).split(/^valid | to /);
  // Texts of times are in their order, before "…".
  return closes < closed || (opened === '…' && opens !== opened);
}

/** Secret or private: their values are not printed. */
const HIDDEN = /^(store|mail\.(password|ca)|(encryption|cookie)_keys|users\[\]\.(password_hash|claims).*)$/;

function toItem(difference: Difference): PlanItem {
  const { path } = difference;
  const severity = isBreaking(difference) ? 'breaking' : 'change';
  const when = needsRestart(path) ? '; takes effect at the next start' : '';
  return { severity, path, message: `${describe(difference)}${when}` };
}

function describe({ rule, from, to }: Difference): string {
  const [old, now] = [from, to].map((value) => (HIDDEN.test(rule) ? 'one' : shown(value, rule)));
  if (from === undefined) return `added ${now}`.trim();
  if (to === undefined) return `removed ${old}`.trim();
  return HIDDEN.test(rule) ? 'changed' : `changed from ${old} to ${now}`;
}

/** Empty for a named entry: its path contains the name. */
const shown = (value: unknown, rule: string): string | undefined =>
  typeof value === 'string' ? value : rule.endsWith('[]') && isRecord(value) ? '' : JSON.stringify(value);

/** A configuration with the key names of its file, without secrets and absolute paths. */
function comparable({ config, generatedKeys, folder }: PlanSide, now: number) {
  const { store, audit, viewsFolder } = config;
  return {
    ...config,
    // Generated keys belong to the data folder, which isn't part of the file.
    encryptionKeys: generatedKeys.includes('encryption_keys') ? [] : config.encryptionKeys,
    cookieKeys: generatedKeys.includes('cookie_keys') ? [] : config.cookieKeys,
    notices: undefined,
    usersFrom: undefined,
    viewsFolder: undefined,
    views: viewsFolder === undefined ? undefined : relative(folder, viewsFolder),
    store: locationOf(store, folder),
    audit: audit.to === 'file' ? `file:${relative(folder, audit.file)}` : audit.to,
    resources: byName(config.resources, ({ resource }) => resource),
    users: byName(config.users, ({ username }) => username),
    clients: byName(
      config.clients.map(({ scopes, defaultScopes, secrets, ...client }) => ({
        ...client,
        scope: scopes,
        defaultScope: defaultScopes,
        clientSecrets: Object.fromEntries(secrets.flatMap((secret) => describeSecret(secret, now))),
      })),
      ({ clientId }) => clientId,
    ),
  };
}

const byName = <T>(list: readonly T[], nameOf: (one: T) => string): Readonly<Record<string, T>> =>
  Object.fromEntries(list.map((one) => [nameOf(one), one]));

/** The name and window of a secret that hasn't expired. */
function describeSecret(secret: ClientSecret, now: number): [string, string][] {
  const { name, notBefore = 0, expiresAt = Infinity } = secret;
  if (expiresAt <= now) return [];
  const [from, to] = [notBefore, expiresAt].map((t) => (t > now && t < Infinity ? formatInstant(t) : '…'));
  return [[`${name === undefined ? '' : `${name} `}${secretId(secret)}`, `valid ${from} to ${to}`]];
}

/** For comparison only: a URL can contain a password. */
const locationOf = (store: StoreConfig, folder: string) =>
  store.engine === 'lmdb' ? `lmdb:${relative(folder, store.folder)}` : store.url;
