import { createPublicKey } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, importJWK, SignJWT } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import type { KeySet } from '../../../src/keys/key-set.ts';
import { type AccessTokens, createAccessTokens } from '../../../src/tokens/access-token.ts';
import { realKeys } from '../keys/keys.fixture.ts';

const ISSUER = 'https://id.example';
const NOW = Date.UTC(2026, 0, 1);
const IAT = NOW / 1000;
const CLAIMS = { sub: 'usr_1', aud: ISSUER, iat: IAT, exp: IAT + 600, jti: 'jti-1', client_id: 'web' };

let keySet: KeySet;
let foreign: KeySet;
let tokens: AccessTokens;

beforeAll(async () => {
  const [one, two, three] = await realKeys();
  if (one === undefined || two === undefined || three === undefined) throw new Error('three keys');
  const set = (active: typeof one, published: (typeof one)[]): KeySet => ({
    generation: 1,
    active: { kid: active.kid, privateJwk: active.privateJwk },
    others: [],
    reserve: [],
    published: published.map(({ publicJwk }) => publicJwk),
  });
  keySet = set(one, [one, two]);
  foreign = set(three, [three]);
  tokens = createAccessTokens(ISSUER, keySet, () => NOW);
});

/** Signed with the active key, with a header and claims of the test's choice. */
async function signed(header: Record<string, unknown>, claims: Record<string, unknown>): Promise<string> {
  const key = await importJWK(keySet.active.privateJwk, 'RS256');
  const all = { kid: keySet.active.kid, alg: 'RS256', typ: 'at+jwt', ...header };
  return new SignJWT({ iss: ISSUER, ...CLAIMS, ...claims }).setProtectedHeader(all).sign(key);
}

describe('an access token', () => {
  it('verifies what it signs, and says it all', async () => {
    const jwt = await tokens.sign(CLAIMS, { acr: 'x' });
    expect(decodeProtectedHeader(jwt)).toEqual({ alg: 'RS256', typ: 'at+jwt', kid: keySet.active.kid });
    expect(await tokens.verify(jwt)).toEqual({ iss: ISSUER, ...CLAIMS, acr: 'x' });
  });

  it('lets extra claims add and never replace', async () => {
    const extra = {
      iss: 'https://evil.example',
      sub: 'x',
      aud: 'x',
      exp: 9e9,
      jti: 'x',
      client_id: 'x',
      a: 1,
    };
    expect(decodeJwt(await tokens.sign(CLAIMS, extra))).toEqual({ iss: ISSUER, ...CLAIMS, a: 1 });
  });

  it.each([
    ['of another issuer', {}, { iss: 'https://other.example' }],
    ['of another type', { typ: 'JWT' }, {}],
    ['without a type', { typ: undefined }, {}],
    ['that is over', {}, { exp: IAT }],
    ['that is not yet', {}, { nbf: IAT + 60 }],
    ['without sub', {}, { sub: undefined }],
    ['without aud', {}, { aud: undefined }],
    ['without exp', {}, { exp: undefined }],
    ['without iat', {}, { iat: undefined }],
    ['without jti', {}, { jti: undefined }],
    ['without client_id', {}, { client_id: undefined }],
    ['of an unknown kid', { kid: 'unknown' }, {}],
  ])('%s is no token', async (_case, header, claims) => {
    expect(await tokens.verify(await signed({}, {}))).toMatchObject(CLAIMS);
    expect(await tokens.verify(await signed(header, claims))).toBeUndefined();
  });

  it('of another key set is no token', async () => {
    const others = createAccessTokens(ISSUER, foreign, () => NOW);
    expect(await tokens.verify(await others.sign(CLAIMS))).toBeUndefined();
  });

  it.each(['', 'x', 'a.b.c', '..', 'a.b.c.d.e', '\u0000.\u0000.\u0000'])('"%s" is no token', async (text) => {
    expect(await tokens.verify(text)).toBeUndefined();
  });

  it.each(['none', 'HS256', 'PS256', 'RS512'])('with alg %s is no token', async (alg) => {
    const [header, payload, signature] = (await tokens.sign(CLAIMS)).split('.');
    expect(header).toBeTypeOf('string');
    const changed = Buffer.from(JSON.stringify({ alg, typ: 'at+jwt', kid: keySet.active.kid }));
    expect(await tokens.verify(`${changed.toString('base64url')}.${payload}.${signature}`)).toBeUndefined();
    if (alg !== 'HS256') return;
    // The public key as a shared secret, the oldest of these tricks.
    const jwk = keySet.published[0];
    const pem = createPublicKey({ key: { ...jwk }, format: 'jwk' }).export({ type: 'spki', format: 'pem' });
    const forged = await new SignJWT({ iss: ISSUER, ...CLAIMS })
      .setProtectedHeader({ alg, typ: 'at+jwt', kid: keySet.active.kid })
      .sign(Buffer.from(pem));
    expect(await tokens.verify(forged)).toBeUndefined();
  });

  it('is for a moment that the clock decides', async () => {
    const jwt = await tokens.sign(CLAIMS);
    const at = async (seconds: number) =>
      createAccessTokens(ISSUER, keySet, () => NOW + seconds * 1000).verify(jwt);
    expect(await at(599)).toMatchObject({ jti: 'jti-1' });
    expect(await at(600)).toBeUndefined();
  });
});

describe('a token that was verified before', () => {
  it('ends on time, and begins no new life when the clock is set back and forth', async () => {
    let now = NOW;
    const clocked = createAccessTokens(ISSUER, keySet, () => now);
    const jwt = await clocked.sign(CLAIMS);
    expect(await clocked.verify(jwt)).toBeDefined();
    now = NOW + 599_999;
    expect(await clocked.verify(jwt)).toBeDefined();
    now = NOW + 600_000;
    expect(await clocked.verify(jwt)).toBeUndefined();
    now = NOW + 600_001;
    expect(await clocked.verify(jwt)).toBeUndefined();
  });

  it('lends nothing to another text: not to a respelled, cut, longer or re-signed one', async () => {
    const jwt = await tokens.sign(CLAIMS);
    expect(await tokens.verify(jwt)).toBeDefined();
    const [header = '', payload = '', signature = ''] = jwt.split('.');
    const other = await tokens.sign({ ...CLAIMS, jti: 'jti-2' });
    for (const text of [
      `${jwt}=`,
      ` ${jwt}`,
      jwt.slice(0, -1),
      `${header}.${payload}.`,
      `${header}.${payload}.${other.split('.')[2]}`,
      `${header}.${other.split('.')[1]}.${signature}`,
    ]) {
      expect(await tokens.verify(text)).toBeUndefined();
    }
  });

  it("can't be changed by the one who got it first", async () => {
    const jwt = await tokens.sign({ ...CLAIMS, aud: ['a', 'b'] });
    const claims = (await tokens.verify(jwt)) as unknown as { sub: string; aud: string[] };
    expect(() => (claims.sub = 'usr_2')).toThrow(TypeError);
    expect(() => claims.aud.push('c')).toThrow(TypeError);
    expect(await tokens.verify(jwt)).toMatchObject({ sub: 'usr_1', aud: ['a', 'b'] });
  });

  it('is forgotten with the keys: others know nothing of it', async () => {
    const jwt = await tokens.sign(CLAIMS);
    expect(await tokens.verify(jwt)).toBeDefined();
    expect(await createAccessTokens(ISSUER, foreign, () => NOW).verify(jwt)).toBeUndefined();
  });

  it('and two thousand others are kept, no more', async () => {
    const few = createAccessTokens(ISSUER, keySet, () => NOW);
    const jwts: string[] = [];
    for (let count = 0; count < 2100; count += 1) {
      jwts.push(await few.sign({ ...CLAIMS, jti: `jti-${count}` }));
    }
    for (const jwt of jwts) expect(await few.verify(jwt)).toBeDefined();
    // The forgotten ones are verified anew.
    expect(await few.verify(jwts[0] ?? '')).toMatchObject({ jti: 'jti-0' });
  });
});
