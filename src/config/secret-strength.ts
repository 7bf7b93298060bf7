// Which secrets are good enough, and the notation of their hashes. No message repeats a secret.
import { createHash } from 'node:crypto';
import { phcFault } from './phc.ts';

/** What is kept of a secret: never the value itself. */
export type SecretHash =
  /** SHA-256 of the UTF-8 bytes, 32 bytes: for random secrets, and cheap enough for every request. */
  | { readonly kind: 'sha256'; readonly digest: Buffer }
  /** argon2id, PHC string: imported from elsewhere, and slow on purpose. */
  | { readonly kind: 'argon2id'; readonly phc: string };

const LEAST_LENGTH = 32;
const LEAST_VARIETY = 10;
const HASH = /^sha256:([0-9a-f]{64}|[A-Za-z0-9_-]{43}=?)$/i;

/**
 * Why `secret` is too weak, or nothing. An estimate: entropy can't be measured, but what a person types is short, or
 * repeats itself, or runs along the alphabet (RFC 6749 §10.10).
 */
export function weakness(secret: string): string | undefined {
  if (secret === '') return 'is empty';
  if (!/^[\x20-\x7e]+$/.test(secret)) return 'must be printable ASCII (RFC 6749 appendix A.2)';
  if (secret.length < LEAST_LENGTH)
    return `is too weak: it must have at least ${LEAST_LENGTH} random characters`;
  return isMonotonous(secret) ? 'is too weak: it must be random' : undefined;
}

function isMonotonous(secret: string): boolean {
  const repeats = (secret + secret).indexOf(secret, 1) < secret.length;
  return repeats || new Set(secret).size < LEAST_VARIETY || steps(secret) > secret.length / 2;
}

/** How many characters follow their neighbour in the alphabet, or repeat it. */
function steps(secret: string): number {
  let count = 0;
  for (let index = 1; index < secret.length; index += 1) {
    if (Math.abs(secret.charCodeAt(index) - secret.charCodeAt(index - 1)) <= 1) count += 1;
  }
  return count;
}

/** SHA-256 of the UTF-8 bytes: enough for a random secret, and cheap enough for every token request. */
export function digestOf(secret: string): Buffer {
  return createHash('sha256').update(secret, 'utf8').digest();
}

/** What is wrong with the text of a `hash:`, or nothing. */
export function hashFault(value: string): string | undefined {
  if (value.startsWith('$')) return phcFault(value);
  if (!HASH.test(value)) {
    return 'must be sha256: and 64 hex digits or 43 base64url characters, or an argon2id hash';
  }
  return parseSha256(value).equals(digestOf('')) ? 'must not be the hash of an empty secret' : undefined;
}

/** What a `hash:` without faults holds. */
export function parseHash(value: string): SecretHash {
  return value.startsWith('$')
    ? { kind: 'argon2id', phc: value }
    : { kind: 'sha256', digest: parseSha256(value) };
}

function parseSha256(value: string): Buffer {
  const digest = value.slice('sha256:'.length);
  return Buffer.from(digest, digest.length === 64 ? 'hex' : 'base64url');
}
