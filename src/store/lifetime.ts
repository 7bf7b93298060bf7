// The rules for time in both stores: nothing without an end, everything in whole milliseconds of the injected clock.
import type { Clock } from './store.ts';

/** Whole milliseconds, so that both stores can compare and print it exactly. */
export const inWholeMs =
  (now: Clock): Clock =>
  () =>
    Math.floor(now());

/** Milliseconds of a record's life. Throws TypeError for what would live for ever or never. */
export function toLifeMs(ttlSeconds: number): number {
  if (!Number.isInteger(ttlSeconds) || ttlSeconds < 1 || ttlSeconds > MAX_TTL_SECONDS) {
    throw new TypeError(`ttlSeconds must be whole seconds from 1 to ${MAX_TTL_SECONDS}, got ${ttlSeconds}`);
  }
  return ttlSeconds * 1000;
}

// A hundred years: far beyond any setting, far below where a sum in milliseconds or a PEXPIRE would overflow.
const MAX_TTL_SECONDS = 100 * 365 * 24 * 60 * 60;
