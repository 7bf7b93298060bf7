// How people write durations (`60s`, `10m`, `1h`, `30d`), rates (`6000/1m`) and points in time. The titles are what documents and
// editors call such a text.
import * as z from 'zod';

export const MINUTE = 60;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

const UNITS: Readonly<Record<string, number>> = { s: 1, m: MINUTE, h: HOUR, d: DAY };
const DURATION = /^\d{1,8}[smhd]$/;
const DURATION_FAULT = 'must be a duration, such as 60s, 10m, 1h or 30d';
const LONGEST = 3650 * DAY;

/** Seconds, or undefined when `text` isn't a duration. */
export function parseDuration(text: string): number | undefined {
  if (!DURATION.test(text)) return undefined;
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
  const schema = z.string(DURATION_FAULT).regex(DURATION, DURATION_FAULT).meta({ title: 'duration' });
  return schema.transform((text, context) => {
    const seconds = parseDuration(text) ?? 0;
    if (seconds < min) context.addIssue(`must be at least ${formatDuration(min)}`);
    if (seconds > max) context.addIssue(`must be at most ${formatDuration(max)}`);
    return seconds;
  });
}

/** `N/duration`: at most `limit` in `windowSeconds`. */
export type Rate = { readonly limit: number; readonly windowSeconds: number };

const RATE = /^\d{1,9}\/\d{1,8}[smhd]$/;
const RATE_FAULT = 'must be a rate: a number, a slash and a duration, such as 6000/1m';

/** The rate that `text` stands for, or undefined when it isn't one. */
export function parseRate(text: string): Rate | undefined {
  if (!RATE.test(text)) return undefined;
  const slash = text.indexOf('/');
  const limit = Number(text.slice(0, slash));
  const windowSeconds = parseDuration(text.slice(slash + 1)) ?? 0;
  return limit > 0 && windowSeconds > 0 && windowSeconds <= DAY ? { limit, windowSeconds } : undefined;
}

/** A text of the file that `parse` understands. */
function parsed<T>(schema: z.ZodString, parse: (text: string) => T | undefined, fault: string) {
  return schema.transform((text, context) => {
    const value = parse(text);
    if (value !== undefined) return value;
    context.addIssue(fault);
    return z.NEVER;
  });
}

export function rate() {
  const schema = z.string(RATE_FAULT).regex(RATE, RATE_FAULT).meta({ title: 'rate' });
  return parsed(schema, parseRate, 'must allow at least 1, in a time between 1s and 1d');
}

const INSTANT = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?(Z|[+-]\d{2}:\d{2}))?$/;
const INSTANT_FAULT = 'must be a day such as 2027-01-01, or a time such as 2027-01-01T12:00:00Z';

/** Epoch seconds of a day (which begins at midnight UTC) or a full RFC 3339 time; undefined when `text` is neither. */
export function parseInstant(text: string): number | undefined {
  if (!INSTANT.test(text)) return undefined;
  const day = text.slice(0, 10);
  const midnight = new Date(day);
  // Date turns 30 February into 2 March; a user who wrote that meant something else.
  if (Number.isNaN(midnight.getTime()) || midnight.toISOString().slice(0, 10) !== day) return undefined;
  const milliseconds = Date.parse(text);
  return Number.isNaN(milliseconds) ? undefined : Math.floor(milliseconds / 1000);
}

export const instantFault = (text: string): string | undefined =>
  parseInstant(text) === undefined ? INSTANT_FAULT : undefined;

/** The zod type of a point in time; yields epoch seconds. */
export const instant = () =>
  parsed(z.string(INSTANT_FAULT).meta({ title: 'day or time' }), parseInstant, INSTANT_FAULT);

/** `2027-01-01`, or with the time when it isn't midnight UTC. */
export function formatInstant(seconds: number): string {
  const text = new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
  return text.endsWith('T00:00:00Z') ? text.slice(0, 10) : text;
}
