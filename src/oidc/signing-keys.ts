// Our key set as the engine's `jwks`: the active key signs, every other published key only verifies. The engine holds no private key.
import { createPublicKey, type KeyObject } from 'node:crypto';
import { ExternalSigningKey, type Configuration } from 'oidc-provider';
import type { KeySet } from '../keys/key-set.ts';
import type { PublicJwk } from '../keys/ring.ts';
import { createRs256, type SignData } from '../tokens/access-token.ts';

/** What signatures are checked with (an id_token_hint); it signs by `signData`, where that is given. */
class EngineKey extends ExternalSigningKey {
  readonly #jwk: PublicJwk;
  readonly #key: KeyObject;
  readonly #signData: SignData | undefined;

  constructor(jwk: PublicJwk, signData?: SignData) {
    super();
    this.#jwk = jwk;
    this.#key = createPublicKey({ key: { ...jwk }, format: 'jwk' });
    this.#signData = signData;
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

  override async sign(data: Uint8Array): Promise<Uint8Array> {
    if (this.#signData === undefined) throw new TypeError(`key ${this.kid} verifies only`);
    return this.#signData(data);
  }
}

/** The active key first: the engine signs with the first that fits. */
export function toEngineKeys({ active, published }: KeySet): NonNullable<Configuration['jwks']> {
  const signData = createRs256(active.privateJwk);
  const own = published.filter(({ kid }) => kid === active.kid).map((jwk) => new EngineKey(jwk, signData));
  const others = published.filter(({ kid }) => kid !== active.kid).map((jwk) => new EngineKey(jwk));
  return { keys: [...own, ...others] };
}
