// Which settings a running service can't take over.
import { isDeepStrictEqual } from 'node:util';
import type { Config, StoreConfig } from './config.ts';
import { withoutCredentials } from './redis-url.ts';

const KEYS = {
  issuer: 'issuer',
  listen: 'listen',
  management: 'management',
  store: 'store',
  workers: 'workers',
  log: 'log',
  audit: 'audit',
  encryptionKeys: 'encryption_keys',
} as const satisfies Partial<Record<keyof Config, string>>;

/** The keys, as the file names them, whose change takes effect at the next start only. */
export function needRestart(current: Config, next: Config): string[] {
  return Object.entries(KEYS)
    .filter(([key]) => key !== 'store' || !isSameStore(current.store, next.store))
    .filter(([key]) => !isDeepStrictEqual(current[key as keyof typeof KEYS], next[key as keyof typeof KEYS]))
    .map(([, name]) => name);
}

/** But for the user and password that it is asked with. */
function isSameStore(one: StoreConfig, other: StoreConfig): boolean {
  if (one.engine === 'lmdb' || other.engine === 'lmdb') return isDeepStrictEqual(one, other);
  return isDeepStrictEqual(withoutCredentials(one.url), withoutCredentials(other.url));
}

/** `next`, but for what a running service can't take over: that stays as in `current`. */
export function keepUntilRestart(current: Config, next: Config): Config {
  const kept = Object.keys(KEYS).map((key) => [key, current[key as keyof typeof KEYS]]);
  const store = isSameStore(current.store, next.store) ? next.store : current.store;
  return { ...next, ...Object.fromEntries(kept), store };
}

/** Whether a change of this key of the file takes effect at the next start only. */
export function needsRestart(path: string): boolean {
  const [key] = path.split(/[.[]/);
  return Object.values(KEYS).some((name) => name === key);
}
