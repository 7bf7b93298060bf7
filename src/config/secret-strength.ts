// Which secrets are good enough, the notation of their hashes, and what those are called. No message repeats a secret.
import { createHash, hash } from 'node:crypto';

/** What is kept of a secret, never the value itself: `digestOf` it. */
export type SecretHash = { readonly digest: Buffer };

const LEAST_LENGTH = 32;
const LEAST_VARIETY = 10;
const HASH = /^sha256:([0-9a-f]{64}|[A-Za-z0-9_-]{43}=?)$/i;

/** Why `secret` is too weak, or nothing. An estimate: what a user types is short or repeats itself (RFC 6749 §10.10). */
export function weakness(secret: string): string | undefined {
  if (!/^[\x20-\x7e]*$/.test(secret)) return 'must be printable ASCII (RFC 6749, appendix A.2)';
  const isTyped = /0123456|abcdefg|qwerty/i.test(secret) || new Set(secret).size < LEAST_VARIETY;
  return isTyped || secret.length < LEAST_LENGTH
    ? `is too weak: use at least ${LEAST_LENGTH} random characters`
    : undefined;
}

/** SHA-256 of the UTF-8 bytes: enough for a random secret, and cheap enough for every token request. */
export const digestOf = (secret: string): Buffer => hash('sha256', secret, 'buffer');

const EMPTY_DIGEST = digestOf('');

const PHC =
  /^\$argon2id\$v=19\$m=([1-9]\d{0,6}),t=([1-9]\d{0,2}),p=([1-9]\d?)\$[A-Za-z0-9+/]{11,86}\$[A-Za-z0-9+/]{22,171}$/;

/** Not one that lacks its last characters. */
const isWholeBase64 = (text: string): boolean =>
  Buffer.from(text, 'base64').toString('base64').replace(/=+$/, '') === text;

/**
 * What is wrong with an argon2id hash, or nothing: it is cheap to guess (OWASP), one request could take all memory, or it can't be decoded:
 * then no sign-in would work, because each verifies a hash of every cost.
 */
export function phcFault(value: string): string | undefined {
  const [, memory = 0, passes = 0, lanes = 0] = (PHC.exec(value) ?? []).map(Number);
  const isFine = memory >= 7168 && memory <= 262_144 && passes <= 20 && lanes <= 16;
  return isFine && value.split('$').slice(4).every(isWholeBase64)
    ? undefined
    : 'must be an argon2id hash ($argon2id$v=19$m=…,t=…,p=…$…$…) with m from 7168 to 262144, t up to 20 and p up to 16';
}

/** What is wrong with the text of a `hash:`, or nothing. */
export function hashFault(value: string): string | undefined {
  if (!HASH.test(value)) {
    return 'must be sha256: with 64 hex digits or 43 base64url characters, as "postern client secret" prints it';
  }
  return parseSha256(value).equals(EMPTY_DIGEST) ? 'must not be the hash of an empty secret' : undefined;
}

/** What a `hash:` without faults holds. */
export function parseSha256(value: string): Buffer {
  const digest = value.slice('sha256:'.length);
  return Buffer.from(digest, digest.length === 64 ? 'hex' : 'base64url');
}

/** A name for a secret that has none of its own: twelve hex digits that reveal nothing about it, and change only with its hash. */
export function secretId({ digest }: SecretHash): string {
  return createHash('sha256').update('postern secret id\n').update(digest).digest('hex').slice(0, 12);
}
