// Makes signing keys, and reads existing RSA ones that can be used.
import { createPrivateKey, createPublicKey, sign, verify, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose';
import type { Algorithm } from '../config/signing-algorithms.ts';
import type { PublicJwk } from './ring.ts';

/** RFC 7518 §3.3: a key of 2048 bits or more MUST be used. */
const MIN_MODULUS = 2048;
const MAX_MODULUS = 16_384;
const NOT_RS256 = 'only an RSA key for RS256 can be brought along: the service makes all others itself';
const KID = /^[\x21-\x7e]{1,128}$/;

/** A key in the clear: it lives in memory only until it is sealed. */
export type KeyMaterial = {
  readonly kid: string;
  /** RFC 7638, SHA-256: names the key itself, whatever its kid. */
  readonly thumbprint: string;
  readonly privateJwk: JWK;
  readonly publicJwk: PublicJwk;
};

/** A key that can't be imported. The message holds nothing of the key. */
export class KeyImportError extends Error {
  override readonly name = 'KeyImportError';
}

/**
 * A new key; its kid is its RFC 7638 thumbprint, and never one that a command line would take for an option.
 * `modulus` in bits, of an RSA key; jose takes none below 2048 (RFC 7518 §3.3).
 */
export async function generateKey(modulus: number, alg: Algorithm = 'RS256'): Promise<KeyMaterial> {
  for (;;) {
    const { privateKey } = await generateKeyPair(alg, { modulusLength: modulus, extractable: true });
    const jwk = await exportJWK(privateKey);
    const material =
      alg === 'ES256' || alg === 'EdDSA'
        ? await toCurveMaterial(jwk, alg)
        : await toMaterial(jwk, undefined, alg);
    if (!material.kid.startsWith('-')) return material;
  }
}

/**
 * Reads an existing private key: PEM (PKCS #8 or PKCS #1), or one private JWK as JSON text. A JWK keeps its kid, any other
 * key gets its thumbprint. Throws KeyImportError for anything that can't sign RS256 or is weaker than RFC 7518 allows.
 */
export async function importKey(pemOrJwk: string): Promise<KeyMaterial> {
  const text = pemOrJwk.trim();
  const jwk = text.startsWith('{') ? parseJwk(text) : undefined;
  const key = jwk === undefined ? readPem(text) : readJwk(jwk);
  assertUsable(key);
  const kid = jwk?.['kid'];
  return toMaterial(key.export({ format: 'jwk' }), typeof kid === 'string' ? kid : undefined);
}

async function toCurveMaterial(jwk: JWK, alg: 'ES256' | 'EdDSA'): Promise<KeyMaterial> {
  const { x, y = '', d } = jwk;
  if (x === undefined || d === undefined) throw new TypeError('a new key is not complete');
  const kid = await calculateJwkThumbprint(jwk, 'sha256');
  const publicJwk: PublicJwk =
    alg === 'ES256'
      ? { kty: 'EC', use: 'sig', kid, alg, crv: 'P-256', x, y }
      : { kty: 'OKP', use: 'sig', kid, alg, crv: 'Ed25519', x };
  return { kid, thumbprint: kid, privateJwk: { ...publicJwk, d }, publicJwk };
}

async function toMaterial(
  jwk: JWK,
  ownKid: string | undefined,
  alg: 'RS256' | 'PS256' = 'RS256',
): Promise<KeyMaterial> {
  const { n, e, d, p, q, dp, dq, qi } = jwk;
  if (jwk.kty !== 'RSA' || !n || !e || !d || !p || !q || !dp || !dq || !qi) {
    throw new KeyImportError('the key is not a complete RSA private key');
  }
  const thumbprint = await calculateJwkThumbprint({ kty: 'RSA', n, e }, 'sha256');
  const publicJwk: PublicJwk = { kty: 'RSA', use: 'sig', kid: ownKid ?? thumbprint, alg, n, e };
  return { kid: publicJwk.kid, thumbprint, privateJwk: { ...publicJwk, d, p, q, dp, dq, qi }, publicJwk };
}

type ForeignJwk = { readonly [member: string]: unknown };

function parseJwk(text: string): ForeignJwk {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's message quotes the text, which is a private key.
    throw new KeyImportError('the key looks like a JWK but is not JSON');
  }
  const jwk: ForeignJwk = { ...Object(value) };
  const refusal = refusalOf(jwk);
  if (refusal !== undefined) throw new KeyImportError(refusal);
  return jwk;
}

function refusalOf({
  keys,
  kty,
  oth,
  alg = 'RS256',
  use = 'sig',
  kid = 'none',
  d,
}: ForeignJwk): string | undefined {
  if (keys !== undefined) return 'this is a key set: give the one key that should sign';
  if (kty !== 'RSA') return NOT_RS256;
  if (d === undefined) return 'this is a public key: the private one is needed';
  if (oth !== undefined) return "a key with more than two primes can't be used";
  if (alg !== 'RS256') return NOT_RS256;
  if (use !== 'sig') return 'the key is not for signing';
  if (typeof kid !== 'string' || !KID.test(kid)) return 'the kid must be 1 to 128 visible ASCII characters';
  return undefined;
}

function readJwk(jwk: ForeignJwk): KeyObject {
  try {
    return createPrivateKey({ key: { ...jwk }, format: 'jwk' });
  } catch (error) {
    throw new KeyImportError('the JWK is not a complete RSA private key', { cause: error });
  }
}

function readPem(text: string): KeyObject {
  if (/-----BEGIN (RSA )?PUBLIC KEY-----|-----BEGIN CERTIFICATE-----/.test(text)) {
    throw new KeyImportError('this is a public key: the private one is needed');
  }
  if (text.includes('ENCRYPTED')) throw new KeyImportError('the key has a passphrase: give it without one');
  try {
    return createPrivateKey(text);
  } catch (error) {
    throw new KeyImportError('the key is neither a PEM private key nor a JWK', { cause: error });
  }
}

function assertUsable(key: KeyObject): void {
  if (key.asymmetricKeyType !== 'rsa') throw new KeyImportError(NOT_RS256);
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {};
  if (modulusLength < MIN_MODULUS || modulusLength > MAX_MODULUS) {
    throw new KeyImportError(
      `the key has ${modulusLength} bits: between ${MIN_MODULUS} and ${MAX_MODULUS} can be used`,
    );
  }
  // FIPS 186-5 A.1.1: an odd exponent above 2^16.
  if (publicExponent <= 65_536n || publicExponent % 2n === 0n) {
    throw new KeyImportError('the public exponent is too small: 65537 is the usual one');
  }
  // A JWK's halves come from its author: they must belong together before verifiers depend on it.
  const probe = Buffer.from('probe');
  if (!isConsistent(key, probe))
    throw new KeyImportError('the private and the public half do not belong together');
}

function isConsistent(key: KeyObject, probe: Buffer): boolean {
  try {
    return verify('sha256', probe, createPublicKey(key), sign('sha256', probe, key));
  } catch {
    return false;
  }
}
