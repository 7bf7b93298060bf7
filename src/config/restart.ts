// The settings that a running service can't reload.
import { isDeepStrictEqual } from 'node:util';
import { list } from '../features/index.ts';
import { toFileKey } from './camel-keys.ts';
import type { Config } from './config.ts';

/** Keys that may differ between nodes that are otherwise the same. */
export const MACHINE_KEYS = ['listen', 'management', 'store', 'log', 'audit', ...list('ofMachine')] as const;

const KEYS = ['issuer', ...MACHINE_KEYS, 'encryptionKeys'] as const;

/** Lists the changed keys, in the file's notation, that take effect only at the next start. */
export const settingsForRestart = (current: Config, next: Config): string[] =>
  KEYS.filter((key) => !isDeepStrictEqual(current[key], next[key])).map(toFileKey);

/** Returns `next`, but with the settings of `current` that take effect only at the next start. */
export function keepUntilRestart(current: Config, next: Config): Config {
  return { ...next, ...Object.fromEntries(KEYS.map((key) => [key, current[key]])) };
}

/** Whether a change of this key of the file takes effect only at the next start. */
export function needsRestart(path: string): boolean {
  const [key] = path.split(/[.[]/);
  return KEYS.some((one) => toFileKey(one) === key);
}
