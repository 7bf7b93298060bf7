// What another configuration would change, and what that means for the people and apps that use the service. Both sides are
// loaded already; the sentences are in plan-rules.ts.
import { relative } from 'node:path';
import type { ClientSecret, Rate, StoreConfig, User } from './config.ts';
import { type Difference, differences } from './diff.ts';
import type { LoadedConfig } from './load.ts';
import { emptiedWarning } from './emptied.ts';
import { planFilePeople, planStorePeople } from './plan-people.ts';
import { planSignIns, type ReachedBy } from './plan-sign-ins.ts';
import type { PlanContext, PlanItem, Severity } from './plan-rule.ts';
import { planRuleFor } from './plan-rules.ts';
import { formatRate } from './notation.ts';
import { secretWarnings } from './secret-expiry.ts';
import { secretId } from './secret-strength.ts';
import { withoutCredentials } from './redis-url.ts';
import { KEY_NAMES, type KeyName } from './service-keys.ts';

export type Plan = {
  readonly result: 'nothing' | 'changes' | 'breaking';
  readonly items: readonly PlanItem[];
};

/** One of the two configurations that are compared. */
export type PlanSide = Pick<LoadedConfig, 'config' | 'generatedKeys'> &
  Partial<Pick<LoadedConfig, 'sources'>> & {
    /** The folder of its file: relative paths that are the same on both sides are no difference. */
    readonly folder: string;
    /** Of the current side. Undefined where no rule changes; a reason where they couldn't be asked. */
    readonly storePeople?: readonly Omit<User, 'passwordHash'>[] | { readonly unknown: string } | undefined;
    /** The same: what the people of the file can do, undefined where sign-ins stay as they are. */
    readonly reachedBy?: ReachedBy | { readonly unknown: string } | undefined;
  };

/** What would happen if `next` took the place of `current` at `now`, in epoch seconds. */
export function toPlan(current: PlanSide, next: PlanSide, now: number): Plan {
  const emptied = emptiedWarning(current, next);
  const context = { current: current.config, next: next.config, now };
  const items = [
    ...differences(comparable(current), comparable(next)).map((difference) => explain(difference, context)),
    ...(emptied === undefined ? [] : [item('breaking', 'users, clients_from', emptied)]),
    ...planFilePeople(current.config, next.config),
    ...planStored(current, next),
    ...planLockedOut(current, next),
    ...planServiceKeys(current, next),
    ...secretWarnings(next.config.clients, now).map(({ clientId, message }) => ({
      severity: 'info' as const,
      path: `clients[${clientId}].client_secrets`,
      message,
    })),
  ];
  return { result: resultOf(items), items };
}

function planStored({ config, storePeople = [] }: PlanSide, next: PlanSide): PlanItem[] {
  if (!('unknown' in storePeople)) return planStorePeople(config, next.config, storePeople);
  const message = `who of its people loses or gains something is not known: ${storePeople.unknown}`;
  return [item('info', 'store', message)];
}

function planLockedOut({ config, reachedBy, storePeople = [] }: PlanSide, next: PlanSide): PlanItem[] {
  if (reachedBy === undefined) return [];
  return 'unknown' in reachedBy
    ? [item('info', 'store', `whom a change of sign-ins locks out is not known: ${reachedBy.unknown}`)]
    : planSignIns(config, next.config, reachedBy, 'unknown' in storePeople ? [] : storePeople);
}

function resultOf(items: readonly PlanItem[]): Plan['result'] {
  if (items.some(({ severity }) => severity === 'breaking')) return 'breaking';
  return items.some(({ severity }) => severity === 'change') ? 'changes' : 'nothing';
}

/** A configuration under the names of its file, without secrets and without what depends on the place of the file. */
function comparable({ config, folder }: PlanSide): Readonly<Record<string, unknown>> {
  const { store, audit, viewsFolder, rateLimits } = config;
  return {
    ...config,
    encryptionKeys: undefined,
    cookieKeys: undefined,
    notices: undefined,
    usersFrom: undefined,
    viewsFolder: undefined,
    views: viewsFolder === undefined ? undefined : relative(folder, viewsFolder),
    store: locationOf(store, folder),
    audit: audit.to === 'file' ? `file:${relative(folder, audit.file)}` : audit.to,
    rateLimits: inNotation(rateLimits),
    clients: config.clients.map((client) => ({
      ...client,
      scopes: undefined,
      scope: client.scopes,
      defaultScopes: undefined,
      defaultScope: client.defaultScopes,
      secrets: undefined,
      clientSecrets: client.secrets.map(comparableSecret),
      rateLimits: inNotation(client.rateLimits),
    })),
  };
}

function comparableSecret(secret: ClientSecret) {
  const { name, notBefore = 0, expiresAt = Infinity } = secret;
  const id = secretId(secret);
  return { id, label: name ?? id, notBefore, expiresAt };
}

/** Rates as the file writes them, `6000/1m`. */
function inNotation(limits: object): object {
  return Object.fromEntries(
    Object.entries(limits).map(([name, value]: [string, unknown]) => {
      if (typeof value !== 'object' || value === null) return [name, value];
      return [name, 'windowSeconds' in value ? formatRate(value as Rate) : inNotation(value)];
    }),
  );
}

function explain(difference: Difference, context: PlanContext): PlanItem {
  const [severity, message] = planRuleFor(difference.rule)(difference, context);
  return { severity, path: difference.path, message };
}

/** Compared, never shown: a URL may hold a password. */
function locationOf(store: StoreConfig, folder: string): string {
  return JSON.stringify(
    store.engine === 'lmdb'
      ? { ...store, folder: relative(folder, store.folder) }
      : withoutCredentials(store.url),
  );
}

function item(severity: Severity, path: string, message: string): PlanItem {
  return { severity, path, message };
}

const LOSSES: Readonly<Record<KeyName, string>> = {
  encryption_keys: "what it encrypted can't be read any more",
  cookie_keys: 'sessions and sign-ins that it signed end',
};

function planServiceKeys(current: PlanSide, next: PlanSide): PlanItem[] {
  // Generated keys belong to the data folder, which isn't part of the file.
  return KEY_NAMES.filter(
    (name) => !current.generatedKeys.includes(name) || !next.generatedKeys.includes(name),
  ).flatMap((name) => planKeyList(name, keysOf(current, name), keysOf(next, name)));
}

function keysOf({ config }: PlanSide, name: KeyName): readonly string[] {
  return name === 'cookie_keys'
    ? config.cookieKeys
    : config.encryptionKeys.map((key) => key.toString('base64url'));
}

/** Never names a key, only its place. */
function planKeyList(name: KeyName, current: readonly string[], next: readonly string[]): PlanItem[] {
  const loss = LOSSES[name];
  if (!current.some((key) => next.includes(key))) {
    return [item('breaking', name, `every key is replaced: ${loss}`)];
  }
  const isFirst = current[0] === next[0] || !current.includes(next[0] ?? '');
  return [
    ...current.flatMap((key, index) =>
      next.includes(key) ? [] : item('breaking', `${name}[${index}]`, `is dropped: ${loss}`),
    ),
    ...next.flatMap((key, index) =>
      current.includes(key) ? [] : item('change', `${name}[${index}]`, 'is new'),
    ),
    ...(isFirst ? [] : [item('change', name, 'another key comes first')]),
  ];
}
