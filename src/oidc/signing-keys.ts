// Our key set as the engine's `jwks`: the active key can sign, every other published key only verifies.
import { createPublicKey, type KeyObject } from 'node:crypto';
import { ExternalSigningKey, type Configuration } from 'oidc-provider';
import type { KeySet } from '../keys/key-set.ts';
import type { PublicJwk } from '../keys/ring.ts';

/** A key that other signatures are checked with (an id_token_hint); its private half stays where it is. */
class VerificationKey extends ExternalSigningKey {
  readonly #jwk: PublicJwk;
  readonly #key: KeyObject;

  constructor(jwk: PublicJwk) {
    super();
    this.#jwk = jwk;
    this.#key = createPublicKey({ key: { ...jwk }, format: 'jwk' });
  }

  override get kid(): string {
    return this.#jwk.kid;
  }

  override get alg(): string {
    return this.#jwk.alg;
  }

  override keyObject(): KeyObject {
    return this.#key;
  }

  override sign(): never {
    throw new TypeError(`key ${this.kid} verifies only`);
  }
}

/** The active key first: the engine signs with the first that fits. */
export function toEngineKeys({ active, published }: KeySet): NonNullable<Configuration['jwks']> {
  const own = { ...active.privateJwk, kid: active.kid, alg: 'RS256', use: 'sig' };
  const others = published.filter(({ kid }) => kid !== active.kid).map((jwk) => new VerificationKey(jwk));
  return { keys: [own, ...others] };
}
