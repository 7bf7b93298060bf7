// Which settings a running service can't take over.
import { isDeepStrictEqual } from 'node:util';
import { toFileKey } from './camel-keys.ts';
import type { Config, StoreConfig } from './config.ts';
import { withoutCredentials } from './redis-url.ts';

const KEYS = [
  'issuer',
  'listen',
  'management',
  'store',
  'workers',
  'log',
  'audit',
  'encryptionKeys',
] as const;

/** The keys, as the file names them, whose change takes effect at the next start only. */
export function settingsForRestart(current: Config, next: Config): string[] {
  const isSame = (key: (typeof KEYS)[number]) =>
    key === 'store' ? isSameStore(current.store, next.store) : isDeepStrictEqual(current[key], next[key]);
  return KEYS.filter((key) => !isSame(key)).map(toFileKey);
}

/** But for the user and password that it is asked with. */
function isSameStore(one: StoreConfig, other: StoreConfig): boolean {
  if (one.engine === 'lmdb' || other.engine === 'lmdb') return isDeepStrictEqual(one, other);
  return isDeepStrictEqual(withoutCredentials(one.url), withoutCredentials(other.url));
}

/** `next`, but for what a running service can't take over: that stays as in `current`. */
export function keepUntilRestart(current: Config, next: Config): Config {
  const kept = KEYS.map((key) => [key, current[key]]);
  const store = isSameStore(current.store, next.store) ? next.store : current.store;
  return { ...next, ...Object.fromEntries(kept), store };
}

/** Whether a change of this key of the file takes effect at the next start only. */
export function needsRestart(path: string): boolean {
  const [key] = path.split(/[.[]/);
  return KEYS.some((one) => toFileKey(one) === key);
}
