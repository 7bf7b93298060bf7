// The content of an access token, and the cache of verified tokens. Forged ones are in test/attack/jwt-forgery.test.ts.
import { decodeJwt } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import type { KeySet } from '../../../src/keys/key-set.ts';
import { type AccessTokens, createAccessTokens } from '../../../src/tokens/access-token.ts';
import { realKeys } from '../keys/keys.fixture.ts';

const ISSUER = 'https://id.example';
const NOW = Date.UTC(2026, 0, 1);
const IAT = NOW / 1000;
const CLAIMS = { sub: 'usr_1', aud: ISSUER, iat: IAT, exp: IAT + 600, jti: 'jti-1', client_id: 'web' };

let keySet: KeySet;
let tokens: AccessTokens;

beforeAll(async () => {
  const [key] = await realKeys();
  if (key === undefined) throw new Error('no key');
  const { kid, privateJwk, publicJwk } = key;
  keySet = { generation: 1, active: { kid, privateJwk }, others: [], reserve: [], published: [publicJwk] };
  tokens = createAccessTokens(ISSUER, keySet, () => NOW);
});

it('an access token lets extra claims add and never replace', async () => {
  const extra = { iss: 'x', sub: 'x', aud: 'x', exp: 9e9, jti: 'x', client_id: 'x', a: 1 };
  expect(decodeJwt(await tokens.sign(CLAIMS, extra))).toEqual({ iss: ISSUER, ...CLAIMS, a: 1 });
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

  it("can't be changed by the one who got it first", async () => {
    const jwt = await tokens.sign({ ...CLAIMS, aud: ['a', 'b'] });
    const claims = (await tokens.verify(jwt)) as unknown as { sub: string; aud: string[] };
    expect(() => (claims.sub = 'usr_2')).toThrow(TypeError);
    expect(() => claims.aud.push('c')).toThrow(TypeError);
    expect(await tokens.verify(jwt)).toMatchObject({ sub: 'usr_1', aud: ['a', 'b'] });
  });
});
