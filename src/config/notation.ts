// The notation of durations (`60s`, `10m`, `1h`, `30d`), rates (`6000/1m`) and points in time. Documents and editors show the
// titles.
import * as z from 'zod';

export const MINUTE = 60;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

const UNITS: Readonly<Record<string, number>> = { s: 1, m: MINUTE, h: HOUR, d: DAY };
const DURATION = /^\d{1,8}[smhd]$/;
const DURATION_FAULT = 'must be a duration, such as 60s, 10m, 1h or 30d';
const LONGEST = 3650 * DAY;

const toSeconds = (text: string) => Number(text.slice(0, -1)) * (UNITS[text.slice(-1)] ?? 1);

/** Formats `seconds` in the shortest way: 600 is `10m`. */
export function formatDuration(seconds: number): string {
  for (const unit of ['d', 'h', 'm']) {
    const size = UNITS[unit] ?? 1;
    if (seconds >= size && seconds % size === 0) return `${seconds / size}${unit}`;
  }
  return `${seconds}s`;
}

/** The zod type of a duration between `min` and `max` seconds; yields seconds. */
export function duration({ min = 1, max = LONGEST }: Readonly<{ min?: number; max?: number }> = {}) {
  const schema = z
    .string(DURATION_FAULT)
    .regex(DURATION, DURATION_FAULT)
    .meta({ title: 'duration', examples: ['60s', '10m', '30d'] });
  return schema.transform((text, context) => {
    const seconds = toSeconds(text);
    if (seconds < min) context.addIssue(`must be at least ${formatDuration(min)}`);
    if (seconds > max) context.addIssue(`must be at most ${formatDuration(max)}`);
    return seconds;
  });
}

/** `N/duration`: at most `limit` in `windowSeconds`. */
export type Rate = Readonly<{ limit: number; windowSeconds: number }>;

const RATE = /^\d{1,9}\/\d{1,8}[smhd]$/;
const RATE_FAULT = 'must be a rate: a number, a slash and a duration, such as 6000/1m';

export const rate = () =>
  z
    .string(RATE_FAULT)
    .regex(RATE, RATE_FAULT)
    .meta({ title: 'rate', examples: ['60/1m'] })
    .transform((text): Rate => {
      const [limit, window = ''] = text.split('/');
      return { limit: Number(limit), windowSeconds: toSeconds(window) };
    })
    .refine(
      ({ limit, windowSeconds }) => limit > 0 && windowSeconds > 0 && windowSeconds <= DAY,
      'must allow at least 1 request, in a period from 1s to 1d',
    );

const INSTANT_FAULT = 'must be a date, such as 2027-01-01, or a time, such as 2027-01-01T12:00:00Z';
/** A day, or a full RFC 3339 time; `precision: -1` is without seconds. */
const INSTANT = z.union([
  z.iso.date(),
  z.iso.datetime({ offset: true }),
  z.iso.datetime({ offset: true, precision: -1 }),
]);

/** The zod type of a point in time; yields epoch seconds. A day begins at midnight UTC. */
export const instant = () =>
  z
    .string(INSTANT_FAULT)
    .meta({ title: 'date or time', examples: ['2027-01-01', '2027-01-01T12:00:00Z'] })
    .refine((text) => INSTANT.safeParse(text).success, INSTANT_FAULT)
    .transform((text) => Math.floor(Date.parse(text) / 1000));

/** Formats a day as `2027-01-01`, and adds the time if it isn't midnight UTC. */
export function formatInstant(seconds: number): string {
  const text = new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
  return text.endsWith('T00:00:00Z') ? text.slice(0, 10) : text;
}
