// Between the sealed ring and what the service uses: seals new keys, opens the ones that sign. Owns the binding of a
// private part to its kid; states are the ring's, encryption is the vault's.
import type { JWK } from 'jose';
import type { KeyMaterial } from './generate-key.ts';
import type { KeySet, PublicJwk } from './key-set.ts';
import {
  activeKey,
  lastCompromiseAt,
  publishedKeys,
  reserveKeys,
  scheduledKeys,
  type NewKey,
  type Ring,
} from './keyring.ts';
import { KeyStoreError } from './ring-document.ts';
import { VaultError, type Vault } from './vault.ts';

/** What a sealed private part is bound to: everything about the key that never changes. */
export function sealName(key: {
  readonly kid: string;
  readonly alg: string;
  readonly createdAt: number;
}): string {
  return `signing key ${JSON.stringify([key.kid, key.alg, key.createdAt])}`;
}

/** `createdAt` in epoch milliseconds. */
export function toNewKey(material: KeyMaterial, createdAt: number, vault: Vault): NewKey {
  const { kid, thumbprint, publicJwk, privateJwk } = material;
  const plaintext = Buffer.from(JSON.stringify(privateJwk));
  const sealed = vault.seal(plaintext, sealName({ kid, alg: 'RS256', createdAt }));
  plaintext.fill(0);
  return { kid, alg: 'RS256', thumbprint, createdAt, public: toPublicJwk(publicJwk), sealed };
}

/**
 * The ring at `now` (epoch milliseconds) as the rest of the service sees it. Throws KeyStoreError when no key can sign or a
 * private part can't be opened.
 */
export function toKeySet(ring: Ring, now: number, vault: Vault): KeySet {
  const active = activeKey(ring, now);
  if (active === undefined) {
    throw scheduledKeys(ring, now).length > 0
      ? new KeyStoreError('clock', 'no key signs yet: is the clock of this machine behind?')
      : new KeyStoreError('empty', 'no key in the store can sign');
  }
  const reserve = [...scheduledKeys(ring, now), ...reserveKeys(ring)].filter(
    (key) => key.sealed !== undefined,
  );
  return {
    generation: ring.generation,
    active: { kid: active.kid, privateJwk: openPrivateJwk(active, vault) },
    reserve: reserve.map((key) => ({ kid: key.kid, privateJwk: openPrivateJwk(key, vault) })),
    published: publishedKeys(ring, now).map((key) => toPublicJwk(key.public)),
    compromisedAt: lastCompromiseAt(ring),
  };
}

function openPrivateJwk(key: NewKey, vault: Vault): JWK {
  if (key.sealed === undefined) {
    throw new KeyStoreError('clock', `the key ${key.kid} has retired: is the clock of this machine behind?`, {
      kid: key.kid,
    });
  }
  try {
    const plaintext = vault.open(key.sealed, sealName(key));
    const jwk: JWK = JSON.parse(plaintext.toString('utf8'));
    plaintext.fill(0);
    return jwk;
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    const about = { kid: key.kid, kekId: error.kekId, cause: error };
    throw error.code === 'unknown_key'
      ? new KeyStoreError(
          'unreadable',
          `the private part of key ${key.kid} was sealed with the encryption key ${error.kekId}, which is not configured`,
          about,
        )
      : new KeyStoreError(
          'tampered',
          `the private part of key ${key.kid} was altered or belongs to another key (encryption key ${error.kekId ?? 'unknown'})`,
          about,
        );
  }
}

/** Spec §2 "JWKS": these members and no other, whatever a stored key carries. */
function toPublicJwk({ kid, n, e }: PublicJwk): PublicJwk {
  return { kty: 'RSA', use: 'sig', kid, alg: 'RS256', n, e };
}
