// The rules for time in both stores: every record expires, and all times are whole milliseconds of the injected clock.
import type { Clock } from './store.ts';

/** Rounds down to whole milliseconds, so that both stores can compare and print times exactly. */
export const inWholeMs =
  (now: Clock): Clock =>
  () =>
    Math.floor(now());

/** Returns a record's lifetime in milliseconds. Throws TypeError if it would never expire or never live. */
export function toLifeMs(ttlSeconds: number): number {
  if (!Number.isInteger(ttlSeconds) || ttlSeconds < 1 || ttlSeconds > MAX_TTL_SECONDS) {
    throw new TypeError(`ttlSeconds must be whole seconds from 1 to ${MAX_TTL_SECONDS}, got ${ttlSeconds}`);
  }
  return ttlSeconds * 1000;
}

// A hundred years: far beyond any setting, far below where a sum in milliseconds or a PEXPIRE would overflow.
const MAX_TTL_SECONDS = 100 * 365 * 24 * 60 * 60;
