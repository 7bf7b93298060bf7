// The stored text of the ring, with a checksum that shows whether it was altered, and the version that shows whether an older one
// was restored.
import type { Ring } from './ring.ts';
import { KeyStoreError, type Vault } from './vault.ts';
import { parseJsonObject } from '../config/parse-fields.ts';

export const KEYS_COLLECTION = 'keys';
export const RING_ID = 'ring';
export const PEPPER_ID = 'pepper';

const PURPOSE = 'signing key ring';

type Body = Readonly<{ writtenAs: number; ring: Ring }>;

/** `version`: the version of the document after the write. An older text that is put back through the store then has another one. */
export function encodeRing(ring: Ring, version: number, vault: Vault): string {
  // JSON inside JSON, so that the checksum covers exactly the bytes that are read.
  const body = JSON.stringify({ writtenAs: version, ring } satisfies Body);
  // 2: has keys that an earlier version would take for RS256.
  const v = ring.keys.every(({ alg }) => alg === 'RS256') ? 1 : 2;
  return JSON.stringify({ v, body, checksum: vault.checksum(PURPOSE, body) });
}

/** Throws KeyStoreError `unsupported`, `unreadable`, `tampered` or `empty`, naming the encryption key. */
export function decodeRing(value: string, version: number, vault: Vault) {
  const { v, body, checksum } = parseJsonObject(value) ?? {};
  if (v !== undefined && v !== 1 && v !== 2) {
    throw new KeyStoreError(
      'unsupported',
      'the key ring in the store was written by a newer version of this service',
    );
  }
  if (v === undefined || typeof body !== 'string' || typeof checksum !== 'string') {
    throw new KeyStoreError('tampered', 'the key ring in the store is not a key ring');
  }
  vault.verify(PURPOSE, body, checksum, 'the key ring');
  // The checksum held, so this is what encodeRing wrote.
  const { ring, writtenAs }: Body = JSON.parse(body);
  if (ring.keys.length === 0) throw new KeyStoreError('empty', 'the key ring in the store has no key');
  /** False: this text has another version than its document, so an older one was restored. */
  const isInPlace = writtenAs === version;
  return { ring, isInPlace };
}
