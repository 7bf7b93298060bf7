// Points in time as people write them: a day (`2027-01-01`, which begins at midnight UTC) or a full RFC 3339 time.
import * as z from 'zod';
import { named } from './notation.ts';

const PATTERN = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?(Z|[+-]\d{2}:\d{2}))?$/;
const NOTATION = 'must be a day such as 2027-01-01, or a time such as 2027-01-01T12:00:00Z';

/** Epoch seconds, or undefined when `text` isn't a point in time. */
export function parseInstant(text: string): number | undefined {
  if (!PATTERN.test(text)) return undefined;
  const day = text.slice(0, 10);
  const midnight = new Date(`${day}T00:00:00Z`);
  // Date turns 30 February into 2 March; a person who wrote that meant something else.
  if (Number.isNaN(midnight.getTime()) || midnight.toISOString().slice(0, 10) !== day) return undefined;
  const milliseconds = Date.parse(text.length === 10 ? `${day}T00:00:00Z` : text);
  return Number.isNaN(milliseconds) ? undefined : Math.floor(milliseconds / 1000);
}

/** The zod type of a point in time; yields epoch seconds. */
export function instant() {
  const schema = z.string(NOTATION).superRefine((text, context) => {
    if (parseInstant(text) === undefined) {
      context.addIssue(NOTATION);
    }
  });
  return named('day or time', schema).transform((text) => parseInstant(text) ?? 0);
}
