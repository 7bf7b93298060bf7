// Turns a bearer value into the name it is stored under, so that a copy of the store holds no credential and no
// caller chooses key bytes. Owns the hash only; where the pepper lives is the vault's business.
import { createHmac } from 'node:crypto';

/** HMAC-SHA-256 of `value` under the installation's pepper, base64url, always 43 characters. */
export type KeyedHash = (value: string) => string;

/** `pepper`: 32 random bytes of this installation. */
export function createKeyedHash(pepper: Buffer): KeyedHash {
  return (value) => createHmac('sha256', pepper).update(value).digest('base64url');
}
