// For how long a fetched document is believed: RFC 9111 §4.2 within bounds, so that no publisher can have it asked for at each sign-in or
// keep an old one in use for ever.
import type { IncomingHttpHeaders } from 'node:http';

const MIN_SECONDS = 5 * 60;
const MAX_SECONDS = 24 * 60 * 60;

/** Whole seconds. `at`: when it was received, in milliseconds. */
export function believedFor(headers: IncomingHttpHeaders, at: number): number {
  const seconds = freshFor(headers, at) - ageOf(headers);
  return Math.min(MAX_SECONDS, Math.max(MIN_SECONDS, Math.floor(seconds)));
}

function freshFor({ 'cache-control': control = '', expires }: IncomingHttpHeaders, at: number): number {
  const directives = control.toLowerCase().split(/\s*,\s*/);
  if (directives.some((one) => one === 'no-store' || /^no-cache(=|$)/.test(one))) return 0;
  const maxAge = directives.map((one) => /^max-age="?(\d+)"?$/.exec(one)?.[1]).find(Boolean);
  if (maxAge !== undefined) return Number(maxAge);
  // RFC 9111 §5.3: what isn't a date, such as 0, has expired.
  const until = Date.parse(expires ?? '');
  return Number.isNaN(until) ? 0 : (until - at) / 1000;
}

/** RFC 9111 §5.1: how long a cache on the way has had it. */
function ageOf({ age = '' }: IncomingHttpHeaders): number {
  return /^\d+$/.test(age) ? Number(age) : 0;
}
