// Which settings a running service can't take over.
import { isDeepStrictEqual } from 'node:util';
import { list } from '../features/index.ts';
import { toFileKey } from './camel-keys.ts';
import type { Config } from './config.ts';

/** Keys that may differ between nodes that are otherwise the same. */
export const MACHINE_KEYS = ['listen', 'management', 'store', 'log', 'audit', ...list('ofMachine')] as const;

const KEYS = ['issuer', ...MACHINE_KEYS, 'encryptionKeys'] as const;

/** The keys, as the file names them, whose change takes effect at the next start only. */
export const settingsForRestart = (current: Config, next: Config): string[] =>
  KEYS.filter((key) => !isDeepStrictEqual(current[key], next[key])).map(toFileKey);

/** `next`, but for what a running service can't take over: that stays as in `current`. */
export function keepUntilRestart(current: Config, next: Config): Config {
  return { ...next, ...Object.fromEntries(KEYS.map((key) => [key, current[key]])) };
}

/** Whether a change of this key of the file takes effect at the next start only. */
export function needsRestart(path: string): boolean {
  const [key] = path.split(/[.[]/);
  return KEYS.some((one) => toFileKey(one) === key);
}
