// What a new configuration would change, and which users lose or gain access.
import { relative } from 'node:path';
import type { ClientSecret } from '../../config/config.ts';
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
  const places = new Map<string, string>();
  const changes = differences(comparable(current, now, places), comparable(next, now, places));
  const isEnforced = [current, next].every(({ config }) => config.signIn?.secondFactor === 'required');
  const items: PlanItem[] = [
    ...changes.map((change) => toItem(change, isEnforced)),
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
  /^((encryption|cookie)_keys|trusted_proxies|account|management\.hosts|(cors|features|outgoing|client_documents|mail|sign_in)\b.*|(clients|resources|users|scopes)\[\]|users\[\]\.password_hash|scopes\[\]\.claims|resources\[\]\.(.*scopes|.*clients|access_token_claims)|clients\[\]\.(client_secrets\[\]|.*redirect_uris|grant_types|response_modes|(default_)?scope|backchannel_logout_uri))$/;
const OFF: readonly unknown[] = [undefined, false, 0];
/** Keys with a list of what is allowed. Another value, or none, allows everything. */
const ALLOWED = /^(mail\.sign_up\.domains|clients\[\]\.groups_claim)$/;

/** `isEnforced`: users need a second factor, before and after. */
function isBreaking({ rule, from, to }: Difference, isEnforced: boolean): boolean {
  if (ALWAYS.test(rule)) return true;
  if (STRICTER.test(rule)) return !LAX.includes(to);
  if (ALLOWED.test(rule)) return Array.isArray(to) || (to === undefined && !Array.isArray(from));
  // A secret without it is valid now.
  if (rule.endsWith('.not_before')) return from === undefined;
  if (rule.endsWith('.expires_at')) return endOf(to) < endOf(from);
  if (rule === 'sign_in.grace') return isEnforced && endOf(to) < endOf(from);
  return OFF.includes(to) && NEEDED.test(rule);
}

const endOf = (time: unknown) => Number(time ?? Infinity);

/** Secret or private: their values are not printed. */
const HIDDEN = /^(store|mail\.(password|ca)|(encryption|cookie)_keys|users\[\]\.(password_hash|claims).*)$/;

function toItem(difference: Difference, isEnforced: boolean): PlanItem {
  const { path } = difference;
  const severity = isBreaking(difference, isEnforced) ? 'breaking' : 'change';
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
function shown(value: unknown, rule: string): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' && rule.includes('.client_secrets[].')) return formatInstant(value);
  return rule.endsWith('[]') && isRecord(value) ? '' : JSON.stringify(value);
}

/**
 * A configuration with the key names of its file, without secrets. A path is relative to the file, like most paths in it, unless `places`
 * has the same one from the other side.
 */
function comparable({ config, generatedKeys, folder }: PlanSide, now: number, places: Map<string, string>) {
  const { store, audit, mail, viewsFolder }: typeof config & { mail?: { server: string } | undefined } =
    config;
  const placeOf = (path: string) => {
    const at = places.get(path) ?? relative(folder, path);
    places.set(path, at);
    return at;
  };
  return {
    ...config,
    // Generated keys belong to the data folder, which isn't part of the file.
    encryptionKeys: generatedKeys.includes('encryption_keys') ? [] : config.encryptionKeys,
    cookieKeys: generatedKeys.includes('cookie_keys') ? [] : config.cookieKeys,
    notices: undefined,
    usersFrom: undefined,
    viewsFolder: undefined,
    views: viewsFolder && placeOf(viewsFolder),
    // A URL can contain a password, which isn't printed.
    store: store.engine === 'lmdb' ? `lmdb:${placeOf(store.folder)}` : store.url,
    audit: audit.to === 'file' ? `file:${placeOf(audit.file)}` : audit.to,
    mail: mail && { ...mail, server: mail.server.replace(/(?<=^folder:).*/, placeOf) },
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

/** The name of a secret that hasn't expired, and the times that limit it from now on. */
function describeSecret(secret: ClientSecret, now: number): [string, object][] {
  const { name, notBefore = 0, expiresAt } = secret;
  if (expiresAt !== undefined && expiresAt <= now) return [];
  const times = { notBefore: notBefore > now ? notBefore : undefined, expiresAt };
  return [[`${name === undefined ? '' : `${name} `}${secretId(secret)}`, times]];
}
