// Rates as people write them: `6000/1m` is at most 6000 in any minute.
import * as z from 'zod';
import { DAY, formatDuration, parseDuration } from './duration.ts';
import { named } from './notation.ts';

/** `N/duration`: at most `limit` in `windowSeconds`. */
export type Rate = { readonly limit: number; readonly windowSeconds: number };

const PATTERN = /^\d{1,9}\/\d{1,8}[smhd]$/;
const NOTATION = 'must be a rate: a number, a slash and a duration, such as 6000/1m';

/** The rate that `text` stands for, or undefined when it isn't one. */
export function parseRate(text: string): Rate | undefined {
  if (!PATTERN.test(text)) return undefined;
  const slash = text.indexOf('/');
  const limit = Number(text.slice(0, slash));
  const windowSeconds = parseDuration(text.slice(slash + 1)) ?? 0;
  return limit > 0 && windowSeconds > 0 && windowSeconds <= DAY ? { limit, windowSeconds } : undefined;
}

/** The rate as people write it. */
export function formatRate({ limit, windowSeconds }: Rate): string {
  return `${limit}/${formatDuration(windowSeconds)}`;
}

/** The zod type of a rate. */
export function rate() {
  const schema = z
    .string(NOTATION)
    .regex(PATTERN, NOTATION)
    .superRefine((text, context) => {
      if (PATTERN.test(text) && parseRate(text) === undefined) {
        context.addIssue('must allow at least 1, in a time between 1s and 1d');
      }
    });
  return named('rate', schema).transform((text) => parseRate(text) ?? { limit: 1, windowSeconds: 1 });
}
