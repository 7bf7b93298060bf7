// Our key set as the engine's `jwks`: the active keys sign, every other published key only verifies. The engine holds no private key.
import { createPublicKey, type KeyObject } from 'node:crypto';
import { ExternalSigningKey, type Configuration } from 'oidc-provider';
import { ALGORITHMS } from '../config/signing-algorithms.ts';
import type { KeySet } from '../keys/key-set.ts';
import type { PublicJwk } from '../keys/ring.ts';
import { createSignData, type SignData } from '../tokens/sign-data.ts';

/** Verifies signatures (of an id_token_hint), and signs with `signData` if it is given. */
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

/** Orders keys by algorithm, the active key first, because the engine signs with the first that fits. */
export function toEngineKeys({ active, others, published }: KeySet): NonNullable<Configuration['jwks']> {
  const signing = [{ ...active, alg: 'RS256' as const }, ...others];
  const signers = new Map(signing.map(({ kid, alg, privateJwk }) => [kid, createSignData(alg, privateJwk)]));
  const keys = ALGORITHMS.flatMap((alg) => {
    const family = published.filter((jwk) => jwk.alg === alg);
    return family.toSorted((a, b) => Number(signers.has(b.kid)) - Number(signers.has(a.kid)));
  });
  return { keys: keys.map((jwk) => new EngineKey(jwk, signers.get(jwk.kid))) };
}
