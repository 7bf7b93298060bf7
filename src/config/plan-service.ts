// What a change of the service's own settings means: addresses, keys, lifetimes, limits, looks. Owns the words.
import { relative } from 'node:path';
import type { Config, RateLimits, StoreConfig } from './config.ts';
import { formatDuration } from './duration.ts';
import {
  compareDurations,
  compareLists,
  compareRest,
  compareValues,
  item,
  toFileName,
  type DurationWords,
} from './plan-items.ts';
import type { PlanItem, PlanSide, Sides } from './plan.ts';
import type { KeyName } from './service-keys.ts';

const AT_START = 'takes effect at the next start';

export function planService(sides: Sides<PlanSide>): PlanItem[] {
  const configs = { current: sides.current.config, next: sides.next.config };
  const both = <K extends keyof Config>(key: K): Sides<Config[K]> => ({
    current: configs.current[key],
    next: configs.next[key],
  });
  return [
    ...compareValues('issuer', both('issuer'), {
      severity: 'breaking',
      meaning: 'every token, session and client that knows the old one ends; takes effect at the next start',
    }),
    ...planKeys(sides),
    ...planStore(sides),
    ...compareValues('listen', both('listen'), { meaning: AT_START }),
    ...compareValues('management', both('management'), { meaning: AT_START }),
    ...compareValues('workers', both('workers'), { meaning: AT_START }),
    ...compareValues('log', both('log'), { meaning: AT_START }),
    ...compareValues('audit', both('audit'), { meaning: AT_START }),
    ...compareLists('trusted_proxies', both('trustedProxies'), {
      dropped: 'is dropped: what it says about client addresses is ignored',
    }),
    ...compareLists(
      'cors.allowed_origins',
      { current: configs.current.cors.allowedOrigins, next: configs.next.cors.allowedOrigins },
      { dropped: 'is dropped: browsers refuse its scripts, unless their client has it' },
    ),
    ...planFeatures(configs),
    ...planLifetimes(configs),
    ...planRates(both('rateLimits')),
    ...compareValues('signing_keys', both('signingKeys'), { meaning: 'for keys that are made from now on' }),
    ...compareRest((key) => `branding.${key}`, both('branding'), []),
    ...compareRest((key) => `passwords.${key}`, both('passwords'), []),
    ...compareValues('views', {
      current: fromFolder(sides.current.folder, configs.current.viewsFolder),
      next: fromFolder(sides.next.folder, configs.next.viewsFolder),
    }),
    ...compareRest((key) => key, configs, SPOKEN_FOR),
  ];
}

const SPOKEN_FOR = [
  'issuer',
  'encryptionKeys',
  'cookieKeys',
  'store',
  'listen',
  'management',
  'workers',
  'log',
  'audit',
  'trustedProxies',
  'cors',
  'features',
  'lifetimes',
  'rateLimits',
  'signingKeys',
  'branding',
  'viewsFolder',
  'passwords',
  // In files of their own.
  'usersFrom',
  'resources',
  'clients',
  'users',
  // What the start says; no setting.
  'notices',
] as const satisfies readonly (keyof Config)[];

function planKeys({ current, next }: Sides<PlanSide>): PlanItem[] {
  const isGenerated = (name: KeyName) =>
    current.generatedKeys.includes(name) && next.generatedKeys.includes(name);
  const encryption = {
    current: current.config.encryptionKeys.map((key) => key.toString('base64url')),
    next: next.config.encryptionKeys.map((key) => key.toString('base64url')),
  };
  const cookie = { current: current.config.cookieKeys, next: next.config.cookieKeys };
  return [
    // Generated ones belong to the data folder, which is not part of the file.
    ...(isGenerated('encryption_keys')
      ? []
      : planKeyList('encryption_keys', encryption, 'what it encrypted can not be read any more')),
    ...(isGenerated('cookie_keys')
      ? []
      : planKeyList('cookie_keys', cookie, 'sessions and sign-ins that it signed end')),
  ];
}

/** Never names a key: only which place it had. */
function planKeyList(name: KeyName, { current, next }: Sides<readonly string[]>, loss: string): PlanItem[] {
  const isDropped = (key: string) => !next.includes(key);
  if (current.every(isDropped)) return item('breaking', name, `every key is replaced: ${loss}`);
  return [
    ...current.flatMap((key, index) =>
      isDropped(key) ? item('breaking', `${name}[${index}]`, `is dropped: ${loss}`) : [],
    ),
    ...next.flatMap((key, index) =>
      current.includes(key) ? [] : item('change', `${name}[${index}]`, 'is new'),
    ),
    ...(current[0] !== next[0] && current.includes(next[0] ?? '')
      ? item('change', name, 'another key comes first')
      : []),
  ];
}

function planStore({ current, next }: Sides<PlanSide>): PlanItem[] {
  const sides = {
    current: placeOf(current.config.store, current.folder),
    next: placeOf(next.config.store, next.folder),
  };
  if (sides.current === sides.next) return [];
  // The URLs themselves stay out: one may hold a password.
  const meaning = 'sessions, grants, refresh tokens and signing keys of the old one are not in the new one';
  return item('breaking', 'store', `is another one: ${meaning}; ${AT_START}`);
}

function placeOf(store: StoreConfig, folder: string): string {
  return store.engine === 'redis' ? store.url : `lmdb:${relative(folder, store.folder)}`;
}

function fromFolder(folder: string, path: string | undefined): string | undefined {
  return path === undefined ? undefined : relative(folder, path);
}

function planFeatures({ current, next }: Sides): PlanItem[] {
  const off = current.features.clientCredentials && !next.features.clientCredentials;
  const on = !current.features.clientCredentials && next.features.clientCredentials;
  return [
    ...(off ? item('breaking', 'features.client_credentials', 'is off now: no service gets a token') : []),
    ...(on ? item('change', 'features.client_credentials', 'is on now') : []),
    ...compareValues('features.pkce', { current: current.features.pkce, next: next.features.pkce }),
  ];
}

/** For whatever is signed: a key must verify as long as the longest token lives. */
export function tokenLifeWords(otherLife: number, life: number): DurationWords {
  const longest = formatDuration(Math.max(otherLife, life));
  return {
    shorter: 'tokens that were issued before keep their longer life',
    longer: `tokens live longer than those that were issued before, and a key that stops signing is kept for ${longest} and more`,
  };
}

const OLD_ONES_KEEP: DurationWords = {
  shorter: 'what was issued before keeps its longer life',
  longer: 'what was issued before keeps its shorter life',
};

const REFRESH_TOKEN: DurationWords = {
  shorter: 'refresh tokens that were issued before keep their later end until they are used',
  longer: 'refresh tokens that were issued before keep their earlier end until they are used',
};

const CHAIN: DurationWords = {
  shorter: 'chains of refresh tokens that are older than this end at their next use',
  longer: 'chains of refresh tokens may go on for longer',
};

function planLifetimes({ current: { lifetimes: current }, next: { lifetimes: next } }: Sides): PlanItem[] {
  const words: Partial<Record<keyof Config['lifetimes'], DurationWords>> = {
    accessToken: tokenLifeWords(next.idToken, next.accessToken),
    idToken: tokenLifeWords(next.accessToken, next.idToken),
    refreshToken: REFRESH_TOKEN,
    refreshTokenAbsolute: CHAIN,
  };
  const keys = Object.keys(next) as (keyof Config['lifetimes'])[];
  return keys.flatMap((key) =>
    compareDurations(
      `lifetimes.${toFileName(key)}`,
      { current: current[key], next: next[key] },
      words[key] ?? OLD_ONES_KEEP,
    ),
  );
}

function planRates({ current, next }: Sides<RateLimits>): PlanItem[] {
  const [before, after] = [ratesOf(current), ratesOf(next)];
  return Object.keys(after).flatMap((key) =>
    compareValues(`rate_limits.${key}`, { current: before[key], next: after[key] }),
  );
}

/** `token.client` -> `6000/1m`. */
function ratesOf({ dryRun, signIn, ...endpoints }: RateLimits): Record<string, string> {
  const rates: Record<string, string> = { dry_run: String(dryRun) };
  const named = {
    ...endpoints,
    sign_in: { account_failures: signIn.accountFailures, address_failures: signIn.addressFailures },
  };
  for (const [endpoint, limits] of Object.entries(named)) {
    for (const [name, { limit, windowSeconds }] of Object.entries(limits)) {
      rates[`${endpoint}.${name}`] = `${limit}/${formatDuration(windowSeconds)}`;
    }
  }
  return rates;
}
