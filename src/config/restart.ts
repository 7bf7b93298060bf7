// Which settings a running service can't take over. Owns the list.
import { isDeepStrictEqual } from 'node:util';
import type { Config } from './config.ts';

const KEYS = {
  issuer: 'issuer',
  listen: 'listen',
  management: 'management',
  store: 'store',
  workers: 'workers',
  encryptionKeys: 'encryption_keys',
} as const satisfies Partial<Record<keyof Config, string>>;

/** The keys, as the file names them, whose change takes effect at the next start only. */
export function needRestart(current: Config, next: Config): string[] {
  return Object.entries(KEYS)
    .filter(([key]) => !isDeepStrictEqual(current[key as keyof typeof KEYS], next[key as keyof typeof KEYS]))
    .map(([, name]) => name);
}
