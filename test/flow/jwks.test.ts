import { createPublicKey } from 'node:crypto';
import { calculateJwkThumbprint, createRemoteJWKSet, decodeProtectedHeader, type JWK, jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import { useWorld } from '../world/each-store.ts';
import { machineToken, signIn } from '../world/app.ts';
import { get } from '../world/requests.ts';
import { API } from '../world/world.ts';
import { raw } from '../world/raw.ts';

const JWKS = '/oauth/jwks.json';

describe('the key set', () => {
  const world = useWorld();
  const keys = async () => (await get(world(), JWKS)).body['keys'] as Record<string, string>[];

  it('Spec §4 GET /oauth/jwks.json: answers one member, keys, without authentication', async () => {
    const answer = await get(world(), JWKS);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toMatch(/^application\/(jwk-set\+)?json/);
    expect(answer.headers.get('set-cookie')).toBeNull();
    expect(Object.keys(answer.body)).toEqual(['keys']);
  });

  it('Spec §2 JWKS, keys: holds the signing key and the one that follows it', async () => {
    expect(await keys()).toHaveLength(2);
  });

  it.each([
    ['kty', 'RSA'],
    ['use', 'sig'],
    ['alg', 'RS256'],
  ])('Spec §2 JWKS, %s: is %s in every key', async (member, value) => {
    expect((await keys()).map((key) => key[member])).toEqual([value, value]);
  });

  it('Spec §2 JWKS, kid: is the RFC 7638 thumbprint, each its own', async () => {
    const all = await keys();
    const thumbprints = await Promise.all(all.map((key) => calculateJwkThumbprint(key as JWK)));
    expect(all.map(({ kid }) => kid)).toEqual(thumbprints);
    expect(new Set(thumbprints).size).toBe(2);
  });

  it('Spec §2 JWKS, n: is a base64url modulus of 2048 bits', async () => {
    for (const key of await keys()) {
      expect(key['n']).toMatch(/^[\w-]{342}$/);
      const { asymmetricKeyDetails } = createPublicKey({ key, format: 'jwk' });
      expect(asymmetricKeyDetails?.modulusLength).toBe(2048);
    }
  });

  it('Spec §2 JWKS, e: is the base64url exponent 65537', async () => {
    expect((await keys()).map(({ e }) => e)).toEqual(['AQAB', 'AQAB']);
  });

  it('has the six members of the specification and no private one', async () => {
    for (const key of await keys()) {
      expect(Object.keys(key).toSorted()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use']);
    }
  });

  it('Spec §5 verification by a resource server: kid, key, RS256 signature, iss, aud and exp', async () => {
    const remote = createRemoteJWKSet(new URL(`${world().issuer}${JWKS}`));
    const jwt = await machineToken(world(), 'reports.read');
    const options = { issuer: world().issuer, audience: API, algorithms: ['RS256'], typ: 'at+jwt' };
    const { payload, protectedHeader } = await jwtVerify(jwt, remote, options);
    expect(protectedHeader.kid).toBe((await keys())[0]?.['kid']);
    expect(payload.sub).toBe('svc');
    await expect(jwtVerify(jwt, remote, { ...options, audience: 'urn:other' })).rejects.toThrow('"aud"');
    await expect(jwtVerify(jwt, remote, { ...options, issuer: 'https://evil.example' })).rejects.toThrow(
      '"iss"',
    );
    const later = new Date(Date.now() + 601_000);
    await expect(jwtVerify(jwt, remote, { ...options, currentDate: later })).rejects.toThrow('"exp"');
    const forged = `${jwt.slice(0, -6)}AAAAAA`;
    await expect(jwtVerify(forged, remote, options)).rejects.toThrow('signature verification failed');
  });

  it('Spec §2 access token, kid: ID token and access token name a published key in their header', async () => {
    const { tokens } = await signIn(world(), { scope: 'openid' });
    const published = (await keys()).map(({ kid }) => kid);
    expect(published).toContain(decodeProtectedHeader(tokens.access_token).kid);
    expect(decodeProtectedHeader(tokens.id_token ?? '')).toEqual({ alg: 'RS256', kid: published[0] });
  });

  it('Spec §8 clients cache the JWKS: it says for how long, and 304 to who has it', async () => {
    const first = await get(world(), JWKS);
    expect(first.headers.get('cache-control')).toBe('public, max-age=300, must-revalidate');
    const headers = { 'if-none-match': first.headers.get('etag') ?? '' };
    expect(await raw(world().base, { target: JWKS, headers })).toMatchObject({ status: 304, text: '' });
  });
});
