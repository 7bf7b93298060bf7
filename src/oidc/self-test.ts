// What a new engine instance must pass before it serves anybody: it verifies what it signs, and it publishes no
// private member. A bad key set is found here and never by a client.
import type { KeySet } from '../keys/key-set.ts';
import type { Clock } from '../store/store.ts';
import type { AccessTokens } from '../tokens/access-token.ts';

/** RFC 7517 §4, RFC 7518 §6.3.1: the public members of an RSA key, and no others. */
const PUBLISHED_MEMBERS = ['alg', 'e', 'kid', 'kty', 'n', 'use'].join();

export async function assertSignsAndVerifies(
  tokens: AccessTokens,
  keySet: KeySet,
  now: Clock,
): Promise<void> {
  for (const jwk of keySet.published) {
    if (Object.keys(jwk).toSorted().join() !== PUBLISHED_MEMBERS) {
      throw new TypeError(`key ${jwk.kid} would publish more than its public half`);
    }
  }
  if (!keySet.published.some(({ kid }) => kid === keySet.active.kid)) {
    throw new TypeError(`key ${keySet.active.kid} would sign without being published`);
  }
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
