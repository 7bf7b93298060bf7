// Envelope encryption of small secrets under the configured encryption keys (KEKs), and a keyed checksum for records that must not
// be altered.
import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { isSameHash } from '../store/keyed-hash.ts';

const VERSION = 'v1';
const KEY_BYTES = 32;
/** NIST SP 800-38D §8.2.2: a random 96-bit nonce. Each data key encrypts once, so data nonces can't repeat. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * `missing`: a required ring or pepper is missing. `foreign`: the ring or the pepper belongs to another installation.
 * `empty`: no key in the ring could sign. `unreadable`: a required encryption key isn't configured. `tampered`: altered.
 * `rolled_back`: older than before. `unsupported`: from a newer version. `clock`: this machine's clock is far behind.
 * `busy`: too many lost races.
 */
type KeyStoreErrorCode =
  | 'missing'
  | 'foreign'
  | 'empty'
  | 'unreadable'
  | 'tampered'
  | 'rolled_back'
  | 'unsupported'
  | 'clock'
  | 'busy';

/** The keys can't be used. Postern never replaces them: an administrator must act. */
export class KeyStoreError extends Error {
  readonly code: KeyStoreErrorCode;

  constructor(code: KeyStoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'KeyStoreError';
    this.code = code;
  }
}

/** A sealed value can't be opened, or a checksum is wrong. Contains no secret. */
export class VaultError extends KeyStoreError {
  /** The KEK that sealed it, when the value names one. */
  readonly kekId: string | undefined;

  constructor(code: 'unreadable' | 'tampered', what: string, kekId?: string, options?: ErrorOptions) {
    const key = kekId ?? 'unknown';
    const message =
      code === 'unreadable'
        ? `${what} was sealed with the encryption key ${key}, which is not configured`
        : `${what} was altered (encryption key ${key})`;
    super(code, message, options);
    this.name = 'VaultError';
    this.kekId = kekId;
  }
}

/** First 8 bytes of SHA-256, hex: identifies a KEK without revealing it. */
export const toKekId = (kek: Buffer) => createHash('sha256').update(kek).digest('hex').slice(0, 16);

export class Vault {
  /** The KEK that seals from now on. */
  readonly kekId: string;
  readonly #first: Buffer;
  readonly #byId: ReadonlyMap<string, Buffer>;

  /** `keks`: 32 bytes each; the first seals, all open. Throws TypeError for an empty list. */
  constructor(keks: readonly Buffer[]) {
    const first = keks[0];
    if (!first) throw new TypeError('a vault needs at least one encryption key');
    this.kekId = toKekId(first);
    this.#first = first;
    this.#byId = new Map(keks.map((kek) => [toKekId(kek), kek]));
  }

  /** Encrypts under a fresh data key. `aad` is bound, but not stored: opening requires the same text. */
  seal(plaintext: Buffer, aad: string): string {
    const dataKey = randomBytes(KEY_BYTES);
    const ciphertext = encrypt(dataKey, plaintext, dataAad(aad));
    const wrapped = encrypt(this.#first, dataKey, wrapAad(this.kekId, aad));
    dataKey.fill(0);
    return [VERSION, this.kekId, wrapped, ciphertext].join('.');
  }

  /** Opens a sealed value. Throws VaultError, which names it `what`. The caller zeroes the result after use. */
  open(sealed: string, aad: string, what = aad): Buffer {
    const [version, kekId, wrapped, ciphertext, ...rest] = sealed.split('.');
    if (version !== VERSION || !kekId || !wrapped || !ciphertext || rest.length > 0) {
      throw new VaultError('tampered', what, kekId);
    }
    const kek = this.#pick(kekId, what);
    try {
      const dataKey = decrypt(kek, wrapped, wrapAad(kekId, aad));
      try {
        return decrypt(dataKey, ciphertext, dataAad(aad));
      } finally {
        dataKey.fill(0);
      }
    } catch (error) {
      throw new VaultError('tampered', what, kekId, { cause: error });
    }
  }

  /** True when `sealed` (or a checksum) names another KEK than the one that seals now. */
  needsRewrap(sealed: string): boolean {
    return sealed.split('.')[1] !== this.kekId;
  }

  /** Seals the same plaintext with the first encryption key. Throws VaultError. */
  rewrap(sealed: string, aad: string): string {
    const plaintext = this.open(sealed, aad);
    const resealed = this.seal(plaintext, aad);
    plaintext.fill(0);
    return resealed;
  }

  /** Keyed checksum of `text`, with a separate key for each purpose. */
  checksum(purpose: string, text: string): string {
    return checksumOf(this.#first, purpose, text);
  }

  /** Throws VaultError unless `checksum` is for exactly this purpose and text under a configured KEK. */
  verify(purpose: string, text: string, checksum: string, what = purpose): void {
    const kekId = checksum.split('.')[1];
    if (!kekId || !isSameHash(checksumOf(this.#pick(kekId, what), purpose, text), checksum)) {
      throw new VaultError('tampered', what, kekId);
    }
  }

  #pick(kekId: string, what: string): Buffer {
    const kek = this.#byId.get(kekId);
    if (!kek) throw new VaultError('unreadable', what, kekId);
    return kek;
  }
}

const wrapAad = (kekId: string, aad: string) => Buffer.from(JSON.stringify([VERSION, 'key', kekId, aad]));
const dataAad = (aad: string) => Buffer.from(JSON.stringify([VERSION, 'data', aad]));

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

/** Returns undefined unless the text is in canonical form: base64url has spare bits at its end. */
function decode(encoded: string): Buffer | undefined {
  const bytes = Buffer.from(encoded, 'base64url');
  return bytes.toString('base64url') === encoded ? bytes : undefined;
}

// RFC 5869: a separate key, so that no checksum is ever computed with a key that also encrypts.
function checksumOf(kek: Buffer, purpose: string, text: string): string {
  const key = Buffer.from(hkdfSync('sha256', kek, '', `postern ${VERSION} checksum ${purpose}`, KEY_BYTES));
  const sum = createHmac('sha256', key).update(text).digest('base64url');
  return [VERSION, toKekId(kek), sum].join('.');
}
