import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint, type JWK } from 'jose';
import { describe, expect, it } from 'vitest';
import { generateKey, importKey, KeyImportError } from '../../../src/keys/generate-key.ts';
import { realKeys } from './keys.fixture.ts';

function rsa(modulusLength: number, publicExponent = 65_537): KeyObject {
  return generateKeyPairSync('rsa', { modulusLength, publicExponent }).privateKey;
}
const existing = rsa(2048);
const pkcs8 = existing.export({ format: 'pem', type: 'pkcs8' }).toString();
const jwk: JWK = existing.export({ format: 'jwk' });
const importJwk = (members: Record<string, unknown>) => importKey(JSON.stringify({ ...jwk, ...members }));

describe('a generated signing key', () => {
  it('KY-02: has its RFC 7638 thumbprint as kid, and is never the same twice', async () => {
    const keys = await realKeys();
    for (const { kid, thumbprint, privateJwk } of keys) {
      expect(kid).toBe(await calculateJwkThumbprint(privateJwk));
      expect(thumbprint).toBe(kid);
    }
    expect(new Set(keys.map(({ kid }) => kid)).size).toBe(keys.length);
  });

  it('is never weaker than RFC 7518 §3.3 allows', async () => {
    await expect(generateKey(1024)).rejects.toThrow('2048 bits');
  });
});

describe('an imported signing key', () => {
  it('is read from PKCS #8 and PKCS #1, with its thumbprint as kid', async () => {
    const thumbprint = await calculateJwkThumbprint(jwk);
    for (const type of ['pkcs8', 'pkcs1'] as const) {
      const key = await importKey(existing.export({ format: 'pem', type }).toString());
      expect(key.kid).toBe(thumbprint);
      expect(key.privateJwk).toMatchObject({ ...jwk, kid: thumbprint, alg: 'RS256', use: 'sig' });
    }
  });

  it('keeps the kid of a JWK, so that another issuer’s tokens still verify', async () => {
    const key = await importJwk({ kid: 'legacy-2021', alg: 'RS256', use: 'sig' });
    expect(key.kid).toBe('legacy-2021');
    expect(key.publicJwk.kid).toBe('legacy-2021');
    expect(key.thumbprint).toBe(await calculateJwkThumbprint(jwk));
  });

  it('drops what a JWK has besides the key', async () => {
    const key = await importJwk({ x5c: ['secret'], key_ops: ['sign'], note: 'hello' });
    expect(Object.keys(key.privateJwk).toSorted()).toEqual([
      'alg',
      'd',
      'dp',
      'dq',
      'e',
      'kid',
      'kty',
      'n',
      'p',
      'q',
      'qi',
      'use',
    ]);
  });

  const weak = rsa(1024);
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  const ed = generateKeyPairSync('ed25519').privateKey;
  const pss = generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).privateKey;
  const publicJwk = { kty: jwk.kty, n: jwk.n, e: jwk.e };
  const publicPem = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { format: 'pem', type: 'spki' },
    privateKeyEncoding: { format: 'pem', type: 'pkcs8' },
  }).publicKey;
  it.each([
    ['a key of 1024 bits', weak.export({ format: 'pem', type: 'pkcs8' }).toString()],
    ['a JWK of 1024 bits', JSON.stringify(weak.export({ format: 'jwk' }))],
    ['a public PEM', publicPem],
    ['a public JWK', JSON.stringify(publicJwk)],
    ['a private JWK without its primes', JSON.stringify({ ...publicJwk, d: jwk.d })],
    ['a key with a small exponent', rsa(2048, 3).export({ format: 'pem', type: 'pkcs8' }).toString()],
    ['a key for encryption', JSON.stringify({ ...jwk, use: 'enc' })],
    ['a key set', JSON.stringify({ keys: [jwk] })],
    ['a kid with a line break', JSON.stringify({ ...jwk, kid: 'a\nb' })],
    ['a kid that is a number', JSON.stringify({ ...jwk, kid: 7 })],
    ['halves of two keys', JSON.stringify({ ...jwk, n: rsa(2048).export({ format: 'jwk' }).n })],
    [
      'an encrypted PEM',
      existing.export({ format: 'pem', type: 'pkcs8', cipher: 'aes-256-cbc', passphrase: 'x' }).toString(),
    ],
    ['half a JWK', JSON.stringify(jwk).slice(0, 400)],
    ['an empty text', ''],
  ])('refuses %s', async (_name, text) => {
    await expect(importKey(text)).rejects.toThrow(KeyImportError);
  });

  it.each([
    ['an elliptic curve key', ec.export({ format: 'pem', type: 'pkcs8' }).toString()],
    ['an elliptic curve JWK', JSON.stringify({ ...ec.export({ format: 'jwk' }), alg: 'ES256' })],
    ['an Ed25519 key', ed.export({ format: 'pem', type: 'pkcs8' }).toString()],
    ['an Ed25519 JWK', JSON.stringify({ ...ed.export({ format: 'jwk' }), alg: 'EdDSA' })],
    ['an RSA-PSS key', pss.export({ format: 'pem', type: 'pkcs8' }).toString()],
    ['an RSA JWK for PS256', JSON.stringify({ ...jwk, alg: 'PS256' })],
  ])('refuses %s, and says which can be imported', async (_name, text) => {
    await expect(importKey(text)).rejects.toThrow(
      'only an RSA key for RS256 can be brought along: the service makes all others itself',
    );
  });

  it('KY-18: says nothing of a key that it refuses', async () => {
    const cut = JSON.stringify(jwk).slice(0, -1);
    const error: unknown = await importKey(cut).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(KeyImportError);
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error)) + String(error)).not.toContain(
      String(jwk.d).slice(0, 12),
    );
    expect(pkcs8).toContain('PRIVATE');
  });
});
