// Checks the strength of secrets and the notation of their hashes, and derives IDs of secrets. No message contains a secret.
import { createHash, hash } from 'node:crypto';

/** The SHA-256 of a secret (`digestOf`), which is kept instead of its value. */
export type SecretHash = { readonly digest: Buffer };

const LEAST_LENGTH = 32;
const LEAST_VARIETY = 10;
const HASH = /^sha256:([0-9a-f]{64}|[A-Za-z0-9_-]{43}=?)$/i;

/** Why `secret` is too weak, or undefined. An estimate: secrets that people type are short or repetitive (RFC 6749 §10.10). */
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

/** False for text that lacks its last characters. */
const isWholeBase64 = (text: string) =>
  Buffer.from(text, 'base64').toString('base64').replace(/=+$/, '') === text;

/** The fault of an argon2id hash, or undefined: it is cheap to guess (OWASP), could take all memory, or can't be decoded. */
export function phcFault(value: string): string | undefined {
  const [, memory = 0, passes = 0, lanes = 0] = (PHC.exec(value) ?? []).map(Number);
  const isFine = memory >= 7168 && memory <= 262_144 && passes <= 20 && lanes <= 16;
  return isFine && value.split('$').slice(4).every(isWholeBase64)
    ? undefined
    : 'must be an argon2id hash ($argon2id$v=19$m=…,t=…,p=…$…$…) with m from 7168 to 262144, t up to 20 and p up to 16';
}

export function hashFault(value: string): string | undefined {
  if (!HASH.test(value)) {
    return 'must be sha256: with 64 hex digits or 43 base64url characters, as "postern client secret" prints it';
  }
  return parseSha256(value).equals(EMPTY_DIGEST) ? 'must not be the hash of an empty secret' : undefined;
}

/** Decodes a valid `hash:` value. */
export function parseSha256(value: string): Buffer {
  const digest = value.slice('sha256:'.length);
  return Buffer.from(digest, digest.length === 64 ? 'hex' : 'base64url');
}

/** An ID for a secret without a name: twelve hex digits that reveal nothing about it, and change only with its hash. */
export function secretId({ digest }: SecretHash): string {
  return createHash('sha256').update('postern secret id\n').update(digest).digest('hex').slice(0, 12);
}
