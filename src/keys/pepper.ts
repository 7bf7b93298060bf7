// The installation's pepper: the secret under which bearer values are hashed before they are stored. key-store.ts makes it
// together with the first ring, keyed-hash.ts uses it.
import { createHmac, randomBytes } from 'node:crypto';
import type { DocumentStore } from '../store/store.ts';
import { KEYS_COLLECTION, KeyStoreError, PEPPER_ID } from './ring-document.ts';
import { VaultError, type Vault } from './vault.ts';

const PEPPER_BYTES = 32;
const SEAL_NAME = 'the pepper';

export function newPepper(): Buffer {
  return randomBytes(PEPPER_BYTES);
}

/** Says which pepper it is and gives nothing of it away. */
export function pepperId(pepper: Buffer): string {
  return createHmac('sha256', pepper).update('postern v1 pepper').digest('base64url').slice(0, 22);
}

export function sealPepper(pepper: Buffer, vault: Vault): string {
  return vault.seal(pepper, SEAL_NAME);
}

/** Throws KeyStoreError `unreadable` or `tampered`. */
export function openPepper(sealed: string, vault: Vault): Buffer {
  return translate(() => vault.open(sealed, SEAL_NAME));
}

/** Wraps the pepper under the current encryption key. False: it was already, or there is none. */
export async function rewrapPepper(documents: DocumentStore, vault: Vault): Promise<boolean> {
  const existing = await documents.get(KEYS_COLLECTION, PEPPER_ID);
  if (existing === undefined || !vault.needsRewrap(existing.value)) return false;
  const rewrapped = translate(() => vault.rewrap(existing.value, SEAL_NAME));
  // False: another process was first, and it wrote the same.
  return await documents.put(KEYS_COLLECTION, PEPPER_ID, rewrapped, existing.version);
}

/** The pepper is sealed with another encryption key than the first. */
export async function pepperNeedsRewrap(documents: DocumentStore, vault: Vault): Promise<boolean> {
  const existing = await documents.get(KEYS_COLLECTION, PEPPER_ID);
  return existing !== undefined && vault.needsRewrap(existing.value);
}

function translate<T>(open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    const code = error.code === 'unknown_key' ? 'unreadable' : 'tampered';
    throw new KeyStoreError(code, error.message, { kekId: error.kekId, cause: error });
  }
}
