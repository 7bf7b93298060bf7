// The parts of a store that belong together: the ring, the pepper (the secret under which bearer values are hashed before storage)
// and the issuer. The ring names the other two.
import { createHmac } from 'node:crypto';
import type { DocumentStore } from '../store/store.ts';
import type { Ring } from './ring.ts';
import { KEYS_COLLECTION, PEPPER_ID } from './ring-document.ts';
import { KeyStoreError, type Vault } from './vault.ts';

const SEAL_NAME = 'the pepper';

/** `pepper`: the one to which the ring must belong. */
export const belongsTo = ({ installation }: Ring, pepper: Buffer) =>
  installation?.pepper === pepperId(pepper);

/** Throws KeyStoreError `foreign` if the store belongs to another issuer. */
export function assertIssuer({ installation }: Ring, issuer: string | undefined): void {
  const stored = installation?.issuer;
  if (stored === undefined || issuer === undefined || stored === issuer) return;
  throw new KeyStoreError(
    'foreign',
    `the store belongs to the issuer ${stored}, not to ${issuer}: give each issuer a store of its own (on Redis, a prefix in ` +
      'the URL will do), or, if it has a new name, run "postern store set-issuer"',
  );
}

export const sealPepper = (pepper: Buffer, vault: Vault) => vault.seal(pepper, SEAL_NAME);

/** Throws VaultError. */
export const openPepper = (sealed: string, vault: Vault) => vault.open(sealed, SEAL_NAME);

/** Resolves the pepper if it isn't sealed with the first encryption key. */
export async function findOutdatedPepper(documents: DocumentStore, vault: Vault) {
  const stored = await documents.get(KEYS_COLLECTION, PEPPER_ID);
  return stored !== undefined && vault.needsRewrap(stored.value) ? stored : undefined;
}

/** Wraps the pepper under the first encryption key. */
export async function rewrapPepper(documents: DocumentStore, vault: Vault): Promise<void> {
  const stored = await findOutdatedPepper(documents, vault);
  if (stored === undefined) return;
  // If another process was first, it wrote the same pepper.
  const rewrapped = vault.rewrap(stored.value, SEAL_NAME);
  await documents.put(KEYS_COLLECTION, PEPPER_ID, rewrapped, stored.version);
}

/** Identifies the pepper without revealing it. */
export const pepperId = (pepper: Buffer) =>
  createHmac('sha256', pepper).update('postern v1 pepper').digest('base64url').slice(0, 22);
