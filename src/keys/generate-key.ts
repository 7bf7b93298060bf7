// Generates signing keys.
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose';
import type { Algorithm } from '../config/signing-algorithms.ts';
import type { PublicJwk } from './ring.ts';

/** An unencrypted key. It is only in memory until it is sealed. */
export type KeyMaterial = Readonly<{ kid: string; privateJwk: JWK; publicJwk: PublicJwk }>;

/**
 * Generates a key. Its kid is its RFC 7638 thumbprint, and never looks like an option of a command line.
 * `modulus`: bits of an RSA key. jose accepts none below 2048 (RFC 7518 §3.3).
 */
export async function generateKey(modulus: number, alg: Algorithm = 'RS256'): Promise<KeyMaterial> {
  for (;;) {
    const { privateKey } = await generateKeyPair(alg, { modulusLength: modulus, extractable: true });
    const jwk = await exportJWK(privateKey);
    const kid = await calculateJwkThumbprint(jwk, 'sha256');
    if (kid.startsWith('-')) continue;
    const publicJwk = toPublicJwk(jwk, kid, alg);
    return { kid, privateJwk: { ...jwk, ...publicJwk }, publicJwk };
  }
}

/** Copies only the public members of `jwk`. */
export function toPublicJwk({ n = '', e = '', x = '', y = '' }: JWK, kid: string, alg: Algorithm): PublicJwk {
  if (alg === 'ES256') return { kty: 'EC', use: 'sig', kid, alg, crv: 'P-256', x, y };
  if (alg === 'EdDSA') return { kty: 'OKP', use: 'sig', kid, alg, crv: 'Ed25519', x };
  return { kty: 'RSA', use: 'sig', kid, alg, n, e };
}
