// What a caller's text may become inside a key: bounded in length and free of separators and hash tags. Both stores
// name everything through here; it keeps no secret (bearer values are hashed before they reach the store).
import { createHash } from 'node:crypto';

const PLAIN = /^[\w.:-]{1,128}$/;
const KIND = /^[A-Za-z]+$/;

/** Plain short text as it is, anything else as its SHA-256. `#` is never plain, so the two can't meet. */
export const toKeyName = (text: string): string =>
  PLAIN.test(text) ? text : `#${createHash('sha256').update(text).digest('base64url')}`;

/** Unambiguous: a kind holds no colon, so the first colon always ends it. */
export function toRecordId(kind: string, key: string): string {
  if (!KIND.test(kind)) throw new TypeError(`a record's kind is letters only, got ${JSON.stringify(kind)}`);
  return `${kind}:${toKeyName(key)}`;
}
