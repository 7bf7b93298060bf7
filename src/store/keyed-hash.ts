// Turns a bearer value into the name it is stored under, so that a copy of the store has no credential and no caller chooses
// key bytes.
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';

/** HMAC-SHA-256 of `value` under the installation's pepper, base64url, always 43 characters. */
export type KeyedHash = (value: string) => string;

/** For code that names no bearer values, and for a store without a pepper. Throws TypeError. */
export const noHash: KeyedHash = () => {
  throw new TypeError('there is no pepper');
};

/** More than concurrent requests need; a few hundred kilobytes. */
const MAX_KNOWN = 1000;
/** Names from Postern are shorter; values from requests may be longer. */
const MAX_KNOWN_LENGTH = 128;

/** `pepper`: 32 random bytes of this installation. */
export function createKeyedHash(pepper: Buffer): KeyedHash {
  // A key object: with plain bytes Node 24 throws and catches an error at each call, 13 us instead of 2.
  const key = createSecretKey(pepper);
  // The requests of a sign-in use the same records again and again: a flow has 22 names and needed 88 hashes.
  const known = new Map<string, string>();
  return (value) => {
    const before = known.get(value);
    if (before !== undefined) return before;
    const hashed = createHmac('sha256', key).update(value).digest('base64url');
    if (known.size >= MAX_KNOWN) known.clear();
    if (value.length <= MAX_KNOWN_LENGTH) known.set(value, hashed);
    return hashed;
  };
}

/** Compares in constant time, except for the length. */
export function isSameHash(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}
