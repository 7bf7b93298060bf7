// The signing keys as the rest of the service sees them: which one signs now, and which ones verify. Seals and opens private
// parts, bound to their kid.
import type { JWK } from 'jose';
import { type Algorithm, ALGORITHMS } from '../config/signing-algorithms.ts';
import { familyOf } from './families.ts';
import { type KeyMaterial, toPublicJwk } from './generate-key.ts';
import {
  activeKey,
  isSealed,
  publishedKeys,
  reserveKeys,
  scheduledKeys,
  type NewKey,
  type PublicJwk,
  type Ring,
  type SealedKey,
} from './ring.ts';
import { KeyStoreError, type Vault } from './vault.ts';

type PrivateKey = { readonly kid: string; readonly privateJwk: JWK };
/** A key that doesn't sign access tokens. */
type FamilyKey = PrivateKey & { readonly alg: Algorithm };

/** A consistent view of the ring at one time. */
export type KeySet = Readonly<{
  /** Grows by one with every change of the ring. */
  generation: number;
  /** The key that signs access tokens: RS256. */
  active: PrivateKey;
  /** The keys that sign in the other algorithms, one each. */
  others: readonly FamilyKey[];
  /** Keys that will sign access tokens, opened now so that a failure is found early. */
  reserve: readonly PrivateKey[];
  /** The keys that JWKS shows and verification accepts: active first, then reserve, then retired. */
  published: readonly PublicJwk[];
}>;

/** The ring at `now` (epoch milliseconds). Throws KeyStoreError when no key can sign or a private part can't be opened. */
export function toKeySet(ring: Ring, now: number, vault: Vault): KeySet {
  const [first, ...families] = ALGORITHMS.map((alg) => familyOf(ring, alg));
  const own = first ?? ring;
  const active = activeKey(own, now);
  const scheduled = scheduledKeys(own, now);
  if (!active) {
    throw scheduled.length > 0
      ? new KeyStoreError('clock', 'no key signs yet: is the clock of this machine behind?')
      : new KeyStoreError('empty', 'no key in the store can sign');
  }
  const reserve = [...scheduled, ...reserveKeys(own)].filter(isSealed);
  return {
    generation: ring.generation,
    active: openKey(active, vault),
    others: families
      .flatMap((family) => activeKey(family, now) ?? [])
      .map((key) => ({ ...openKey(key, vault), alg: key.alg })),
    reserve: reserve.map((key) => openKey(key, vault)),
    published: publishedKeys(ring, now).map(({ kid, alg, public: jwk }) => toPublicJwk(jwk, kid, alg)),
  };
}

/** `createdAt` in epoch milliseconds. */
export function sealKey(material: KeyMaterial, createdAt: number, vault: Vault): NewKey {
  const { kid, publicJwk, privateJwk } = material;
  const plaintext = Buffer.from(JSON.stringify(privateJwk));
  const { alg } = publicJwk;
  const sealed = vault.seal(plaintext, sealName({ kid, alg, createdAt }));
  plaintext.fill(0);
  return { kid, alg, createdAt, public: publicJwk, sealed };
}

/** Seals the private part of a key with the first encryption key. Throws VaultError. */
export function rewrapKey<Key extends NewKey>(key: Key, vault: Vault): Key {
  const { sealed } = key;
  if (sealed === undefined || !vault.needsRewrap(sealed)) return key;
  return { ...key, sealed: vault.rewrap(sealed, sealName(key)) };
}

function openKey(key: SealedKey, vault: Vault): PrivateKey {
  const { kid, sealed } = key;
  const plaintext = vault.open(sealed, sealName(key), `the private part of key ${kid}`);
  const privateJwk: JWK = JSON.parse(plaintext.toString('utf8'));
  plaintext.fill(0);
  return { kid, privateJwk };
}

/** All of a key that never changes: its private part can't be opened under another name. */
const sealName = ({ kid, alg, createdAt }: Pick<NewKey, 'kid' | 'alg' | 'createdAt'>) =>
  `signing key ${JSON.stringify([kid, alg, createdAt])}`;
