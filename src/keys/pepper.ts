// The installation's pepper: the secret under which bearer values are hashed before they are stored. Owns making it once
// and keeping it sealed; keyed-hash.ts uses it.
import { randomBytes } from 'node:crypto';
import type { DocumentStore } from '../store/store.ts';
import { KEYS_COLLECTION, PEPPER_ID } from './key-store.ts';
import { KeyStoreError } from './ring-document.ts';
import { VaultError, type Vault } from './vault.ts';

const PEPPER_BYTES = 32;
const SEAL_NAME = 'the pepper';

/**
 * The pepper, 32 bytes; made on the first call of an installation, which comes after the key ring's `ensure`. Throws KeyStoreError
 * `unreadable` or `tampered` when one exists and can't be opened: another one would end every session and token.
 */
export async function ensurePepper(
  documents: DocumentStore,
  vault: Vault,
  random: (bytes: number) => Buffer = randomBytes,
): Promise<Buffer> {
  const existing = await documents.get(KEYS_COLLECTION, PEPPER_ID);
  if (existing !== undefined) return openPepper(existing.value, vault);
  const pepper = random(PEPPER_BYTES);
  if (await documents.put(KEYS_COLLECTION, PEPPER_ID, vault.seal(pepper, SEAL_NAME), 0)) return pepper;
  const winner = await documents.get(KEYS_COLLECTION, PEPPER_ID);
  if (winner === undefined) throw new KeyStoreError('missing', 'the pepper vanished from the store');
  return openPepper(winner.value, vault);
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

function openPepper(sealed: string, vault: Vault): Buffer {
  return translate(() => vault.open(sealed, SEAL_NAME));
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
