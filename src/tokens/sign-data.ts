// Signatures of JWS (RFC 7518 §3, RFC 8037 §3.1), each computed in a thread of Node's pool.
import {
  constants,
  createPrivateKey,
  type KeyLike,
  sign,
  type SigningOptions,
  type SignKeyObjectInput,
} from 'node:crypto';
import { promisify } from 'node:util';
import type { JWK } from 'jose';
import type { Algorithm } from '../config/signing-algorithms.ts';

/** Resolves the signature alone. */
export type SignData = (data: Uint8Array) => Promise<Buffer>;

type Key = KeyLike | SignKeyObjectInput;
const signAsync = promisify<string | null, Uint8Array, Key, Buffer>(sign);

export function createSignData(alg: Algorithm, privateJwk: JWK): SignData {
  const key = createPrivateKey({ key: { ...privateJwk }, format: 'jwk' });
  const { type, hash, options } = PARAMETERS[alg];
  if (key.asymmetricKeyType !== type || (key.asymmetricKeyDetails?.modulusLength ?? 2048) < 2048)
    throw new Error(
      `key ${privateJwk.kid} can't sign ${alg}, it is weak or of another type: revoke it with postern keys compromise`,
    );
  // An RSA key without options isn't wrapped: the object would cost a few per cent of the signature.
  const keyWithOptions = options === undefined ? key : { key, ...options };
  return (data) => signAsync(hash, data, keyWithOptions);
}

type Parameters = Readonly<{ type: string; hash: string | null; options?: SigningOptions }>;

const PARAMETERS: Readonly<Record<Algorithm, Parameters>> = {
  RS256: { type: 'rsa', hash: 'sha256' },
  // RFC 7518 §3.5: the salt is as long as the hash.
  PS256: {
    type: 'rsa',
    hash: 'sha256',
    options: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST },
  },
  // RFC 7518 §3.4: r and s as they are, not in DER.
  ES256: { type: 'ec', hash: 'sha256', options: { dsaEncoding: 'ieee-p1363' } },
  EdDSA: { type: 'ed25519', hash: null },
};
