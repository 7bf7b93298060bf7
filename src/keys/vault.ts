// Envelope encryption of small secrets under the configured encryption keys (KEKs), and a keyed checksum for records that must not
// be altered.
import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { isSameHash } from '../store/keyed-hash.ts';

const VERSION = 'v1';
const KEY_BYTES = 32;
/** NIST SP 800-38D §8.2.2: a random 96-bit nonce. Each data key encrypts once, so data nonces can't repeat. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** `unknown_key`: sealed under a KEK that isn't configured. `corrupt`: altered, swapped, or not a sealed value at all. */
type VaultErrorCode = 'unknown_key' | 'corrupt';

/** A sealed value that can't be opened, or a checksum that doesn't hold. Says which KEK is needed; holds no secret. */
export class VaultError extends Error {
  readonly code: VaultErrorCode;
  /** The KEK that sealed it, when the value names one. */
  readonly kekId: string | undefined;

  constructor(code: VaultErrorCode, what: string, kekId: string | undefined, options?: ErrorOptions) {
    const reason =
      code === 'unknown_key'
        ? `it needs the encryption key ${kekId}, which is not configured`
        : `it was altered or belongs to another store${kekId === undefined ? '' : ` (encryption key ${kekId})`}`;
    super(`${what} can't be opened: ${reason}`, options);
    this.name = 'VaultError';
    this.code = code;
    this.kekId = kekId;
  }
}

/** First 8 bytes of SHA-256, hex: identifies a KEK without revealing it. */
export const toKekId = (kek: Buffer): string => createHash('sha256').update(kek).digest('hex').slice(0, 16);

export class Vault {
  /** The KEK that seals from now on. */
  readonly kekId: string;
  readonly #first: Buffer;
  readonly #byId: ReadonlyMap<string, Buffer>;

  /**
   * `keks`: 32 bytes each; the first seals, all open. Throws TypeError for an empty list.
   */
  constructor(keks: readonly Buffer[]) {
    const first = keks[0];
    if (!first) throw new TypeError('a vault needs at least one encryption key');
    this.kekId = toKekId(first);
    this.#first = first;
    this.#byId = new Map(keks.map((kek) => [toKekId(kek), kek]));
  }

  /** Encrypts under a fresh data key. `aad` is bound, not stored: the same text is needed to open. */
  seal(plaintext: Buffer, aad: string): string {
    const dataKey = randomBytes(KEY_BYTES);
    const ciphertext = encrypt(dataKey, plaintext, dataAad(aad));
    const wrapped = encrypt(this.#first, dataKey, wrapAad(this.kekId, aad));
    dataKey.fill(0);
    return [VERSION, this.kekId, wrapped, ciphertext].join('.');
  }

  /** Throws VaultError. The caller zeroes the result when it is done with it. */
  open(sealed: string, aad: string): Buffer {
    const [version, kekId, wrapped, ciphertext, ...rest] = sealed.split('.');
    if (version !== VERSION || !kekId || !wrapped || !ciphertext || rest.length > 0) {
      throw new VaultError('corrupt', aad, kekId);
    }
    const kek = this.#pick(kekId, aad);
    try {
      const dataKey = decrypt(kek, wrapped, wrapAad(kekId, aad));
      try {
        return decrypt(dataKey, ciphertext, dataAad(aad));
      } finally {
        dataKey.fill(0);
      }
    } catch (error) {
      throw new VaultError('corrupt', aad, kekId, { cause: error });
    }
  }

  /** True when `sealed` (or a checksum) names another KEK than the one that seals now. */
  needsRewrap(sealed: string): boolean {
    return sealed.split('.')[1] !== this.kekId;
  }

  /** Seals the same plaintext under the current KEK. Throws VaultError. */
  rewrap(sealed: string, aad: string): string {
    const plaintext = this.open(sealed, aad);
    const resealed = this.seal(plaintext, aad);
    plaintext.fill(0);
    return resealed;
  }

  /** Keyed checksum of `text`, under a key of its own for each purpose. */
  checksum(purpose: string, text: string): string {
    return checksumOf(this.#first, purpose, text);
  }

  /** Throws VaultError unless `checksum` was made for exactly this purpose and text under a configured KEK. */
  verify(purpose: string, text: string, checksum: string): void {
    const kekId = checksum.split('.')[1];
    if (!kekId || !isSameHash(checksumOf(this.#pick(kekId, purpose), purpose, text), checksum)) {
      throw new VaultError('corrupt', purpose, kekId);
    }
  }

  #pick(kekId: string, what: string): Buffer {
    const kek = this.#byId.get(kekId);
    if (!kek) throw new VaultError('unknown_key', what, kekId);
    return kek;
  }
}

const wrapAad = (kekId: string, aad: string): Buffer =>
  Buffer.from(JSON.stringify([VERSION, 'key', kekId, aad]));
const dataAad = (aad: string): Buffer => Buffer.from(JSON.stringify([VERSION, 'data', aad]));

/** nonce ‖ ciphertext ‖ tag, base64url. */
function encrypt(key: Buffer, plaintext: Buffer, aad: Buffer): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES }).setAAD(aad);
  const body = Buffer.concat([cipher.update(plaintext), cipher.final()]);
  return Buffer.concat([nonce, body, cipher.getAuthTag()]).toString('base64url');
}

function decrypt(key: Buffer, encoded: string, aad: Buffer): Buffer {
  const bytes = decode(encoded);
  if (!bytes || bytes.length < NONCE_BYTES + TAG_BYTES) throw new Error('not a sealed value');
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(aad).setAuthTag(bytes.subarray(-TAG_BYTES));
  const head = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
  try {
    return Buffer.concat([head, decipher.final()]);
  } finally {
    // NIST SP 800-38D §7.2: never return unauthenticated plaintext.
    head.fill(0);
  }
}

/** Undefined for anything but the one canonical spelling: base64url has spare bits at its end. */
function decode(encoded: string): Buffer | undefined {
  const bytes = Buffer.from(encoded, 'base64url');
  return bytes.toString('base64url') === encoded ? bytes : undefined;
}

// RFC 5869: a key of its own, so that no checksum is ever computed with a key that also encrypts.
function checksumOf(kek: Buffer, purpose: string, text: string): string {
  const key = Buffer.from(hkdfSync('sha256', kek, '', `postern ${VERSION} checksum ${purpose}`, KEY_BYTES));
  const sum = createHmac('sha256', key).update(text).digest('base64url');
  return [VERSION, toKekId(kek), sum].join('.');
}
