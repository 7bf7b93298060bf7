// Turns a caller's text into a part of a key: bounded in length, without separators and hash tags. Both stores build all keys
// with it. It hides no secret: bearer values are hashed before they reach the store.
import { createHash } from 'node:crypto';

const PLAIN = /^[\w.:-]{1,128}$/;
const KIND = /^[A-Za-z]+$/;

/** Returns plain short text as it is, any other as its SHA-256. `#` is never plain, so the two can't collide. */
export const toKeyName = (text: string) =>
  PLAIN.test(text) ? text : `#${createHash('sha256').update(text).digest('base64url')}`;

/** Unambiguous: a kind has no colon, so the first colon always ends it. */
export function toRecordId(kind: string, key: string): string {
  if (!KIND.test(kind)) throw new TypeError(`a record's kind is letters only, got ${JSON.stringify(kind)}`);
  return `${kind}:${toKeyName(key)}`;
}
