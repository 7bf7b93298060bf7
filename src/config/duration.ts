// Durations as people write them (`60s`, `10m`, `1h`, `30d`) and as the service counts them (seconds).
import * as z from 'zod';
import { named } from './notation.ts';

export const MINUTE = 60;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

const UNITS: Readonly<Record<string, number>> = { s: 1, m: MINUTE, h: HOUR, d: DAY };
const PATTERN = /^\d{1,8}[smhd]$/;
const NOTATION = 'must be a duration, such as 60s, 10m, 1h or 30d';
const LONGEST = 3650 * DAY;

/** Seconds, or undefined when `text` isn't a duration. */
export function parseDuration(text: string): number | undefined {
  if (!PATTERN.test(text)) return undefined;
  return Number(text.slice(0, -1)) * (UNITS[text.slice(-1)] ?? 1);
}

/** The shortest way to write `seconds`: 600 is `10m`. */
export function formatDuration(seconds: number): string {
  for (const unit of ['d', 'h', 'm']) {
    const size = UNITS[unit] ?? 1;
    if (seconds >= size && seconds % size === 0) return `${seconds / size}${unit}`;
  }
  return `${seconds}s`;
}

/** The zod type of a duration between `min` and `max` seconds; yields seconds. */
export function duration({ min = 1, max = LONGEST }: { readonly min?: number; readonly max?: number } = {}) {
  const schema = z
    .string(NOTATION)
    .regex(PATTERN, NOTATION)
    .superRefine((text, context) => {
      const seconds = parseDuration(text);
      if (seconds === undefined) return;
      if (seconds < min) context.addIssue(`must be at least ${formatDuration(min)}`);
      if (seconds > max) context.addIssue(`must be at most ${formatDuration(max)}`);
    });
  return named('duration', schema).transform((text) => parseDuration(text) ?? 0);
}
