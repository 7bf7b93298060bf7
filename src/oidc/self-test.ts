// What a new engine instance must pass before it serves anybody: it verifies what it signs, and it publishes no
// private member. A bad key set is found here and never by a client.
import type { Algorithm } from '../config/signing-algorithms.ts';
import type { KeySet } from '../keys/key-set.ts';
import type { Clock } from '../store/store.ts';
import type { AccessTokens } from '../tokens/access-token.ts';
import { signsFor } from '../tokens/sign-data.ts';

/** RFC 7517 §4; RFC 7518 §6.2.1 and §6.3.1, RFC 8037 §2: the public members of a key, and no others. */
const PUBLISHED_MEMBERS = {
  RSA: ['alg', 'e', 'kid', 'kty', 'n', 'use'].join(),
  EC: ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'].join(),
  OKP: ['alg', 'crv', 'kid', 'kty', 'use', 'x'].join(),
};

type SelfTestParts = {
  readonly keySet: KeySet;
  /** What clients may have their ID tokens signed with. */
  readonly algorithms: readonly Algorithm[];
  readonly now: Clock;
};

export async function assertSignsAndVerifies(
  tokens: AccessTokens,
  { keySet, algorithms, now }: SelfTestParts,
): Promise<void> {
  for (const jwk of keySet.published) {
    if (Object.keys(jwk).toSorted().join() !== PUBLISHED_MEMBERS[jwk.kty]) {
      throw new TypeError(`key ${jwk.kid} would publish more than its public half`);
    }
  }
  for (const { kid } of [keySet.active, ...keySet.others]) {
    if (keySet.published.some((jwk) => jwk.kid === kid)) continue;
    throw new TypeError(`key ${kid} would sign without being published`);
  }
  await assertFamiliesSign(algorithms, keySet);
  const iat = Math.floor(now() / 1000);
  const claims = {
    sub: 'self-test',
    aud: 'self-test',
    iat,
    exp: iat + 60,
    jti: 'self-test',
    client_id: 'self-test',
  };
  const verified = await tokens.verify(await tokens.sign(claims));
  if (verified?.jti !== claims.jti)
    throw new TypeError(`key ${keySet.active.kid} does not verify what it signs`);
}

/** A client would get an error after its code was used up. */
async function assertFamiliesSign(
  algorithms: readonly Algorithm[],
  { others, published }: KeySet,
): Promise<void> {
  for (const wanted of algorithms.filter((alg) => alg !== 'RS256')) {
    const key = others.find(({ alg }) => alg === wanted);
    const jwk = published.find(({ kid }) => kid === key?.kid);
    if (key === undefined || jwk === undefined) throw new TypeError(`there is no key that signs ${wanted}`);
    if (!(await signsFor(wanted, key.privateJwk, jwk))) {
      throw new TypeError(`key ${key.kid} does not verify what it signs`);
    }
  }
}
