// What another configuration would change, and who loses or gains something by it. Both sides are loaded already.
import { relative } from 'node:path';
import type { ClientSecret, Rate, StoreConfig, User } from './config.ts';
import { differences } from './diff.ts';
import type { LoadedConfig } from './load.ts';
import { emptiedWarning } from './emptied.ts';
import { planFilePeople, planStorePeople } from './plan-people.ts';
import { planSignIns, type ReachedBy } from './plan-sign-ins.ts';
import { type PlanItem, toItem } from './plan-severity.ts';
import { formatRate } from './notation.ts';
import { secretWarnings } from './secret-expiry.ts';
import { secretId } from './secret-strength.ts';
import { withoutCredentials } from './redis-url.ts';

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
  const context = { next: next.config, now };
  const emptied = emptiedWarning(current, next);
  const items: PlanItem[] = [
    ...differences(comparable(current), comparable(next)).map((difference) => toItem(difference, context)),
    ...(emptied === undefined
      ? []
      : [{ severity: 'breaking' as const, path: 'users, clients_from', message: emptied }]),
    ...planFilePeople(current.config, next.config),
    ...planStored(current, next),
    ...planLockedOut(current, next),
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
  return [unknown('who of its people loses or gains something', storePeople.unknown)];
}

function planLockedOut({ config, reachedBy, storePeople = [] }: PlanSide, next: PlanSide): PlanItem[] {
  if (reachedBy === undefined) return [];
  return 'unknown' in reachedBy
    ? [unknown('whom a change of sign-ins locks out', reachedBy.unknown)]
    : planSignIns(config, next.config, reachedBy, 'unknown' in storePeople ? [] : storePeople);
}

const unknown = (what: string, reason: string): PlanItem => ({
  severity: 'info',
  path: 'store',
  message: `${what} is not known: ${reason}`,
});

function resultOf(items: readonly PlanItem[]): Plan['result'] {
  if (items.some(({ severity }) => severity === 'breaking')) return 'breaking';
  return items.some(({ severity }) => severity === 'change') ? 'changes' : 'nothing';
}

/** A configuration under the names of its file, without secrets and without what depends on the place of the file. */
function comparable({ config, generatedKeys, folder }: PlanSide): Readonly<Record<string, unknown>> {
  const { store, audit, viewsFolder, rateLimits } = config;
  return {
    ...config,
    // Generated keys belong to the data folder, which isn't part of the file.
    encryptionKeys: generatedKeys.includes('encryption_keys') ? undefined : config.encryptionKeys,
    cookieKeys: generatedKeys.includes('cookie_keys') ? undefined : config.cookieKeys,
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

/** Compared, never shown: a URL may hold a password. */
function locationOf(store: StoreConfig, folder: string): string {
  return JSON.stringify(
    store.engine === 'lmdb'
      ? { ...store, folder: relative(folder, store.folder) }
      : withoutCredentials(store.url),
  );
}
