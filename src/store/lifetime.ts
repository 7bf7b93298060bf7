// The rules for time in both stores: nothing without an end, everything in whole milliseconds of the injected clock.
import type { Clock } from './store.ts';

/** Whole milliseconds, so that both stores can compare and print it exactly. */
export function readClock(now: Clock): number {
  return Math.floor(now());
}

/** Milliseconds of a record's life. Throws TypeError for what would live for ever or never. */
export function toLifeMs(ttlSeconds: number): number {
  if (!Number.isInteger(ttlSeconds) || ttlSeconds < 1 || ttlSeconds > MAX_TTL_SECONDS) {
    throw new TypeError(`ttlSeconds must be whole seconds from 1 to ${MAX_TTL_SECONDS}, got ${ttlSeconds}`);
  }
  return ttlSeconds * 1000;
}

/** Throws TypeError unless the window of a counter ends. */
export function assertWindow(windowMs: number): void {
  if (!Number.isInteger(windowMs) || windowMs < 1 || windowMs > MAX_TTL_SECONDS * 1000) {
    throw new TypeError(`windowMs must be whole milliseconds, at least 1, got ${windowMs}`);
  }
}

/** Throws TypeError unless `value` can be counted exactly. */
export function assertCount(value: number): void {
  if (!Number.isSafeInteger(value)) throw new TypeError(`a count must be a whole number, got ${value}`);
}

// A hundred years: far beyond any setting, far below where a sum in milliseconds or a PEXPIRE would overflow.
const MAX_TTL_SECONDS = 100 * 365 * 24 * 60 * 60;
