// What the rest of the service knows of signing keys: which one signs now and which ones verify. Owns the types only;
// keyring.ts decides states, vault.ts keeps private parts, key-store.ts persists.
import type { JWK } from 'jose';

/** A key as it is published: exactly the members of Spec §2 "JWKS". */
export type PublicJwk = {
  readonly kty: 'RSA';
  readonly use: 'sig';
  /** RFC 7638 thumbprint, or the imported key's own kid. */
  readonly kid: string;
  readonly alg: 'RS256';
  readonly n: string;
  readonly e: string;
};

/** A consistent picture of the ring at one moment. */
export type KeySet = {
  /** Grows by one with every change of the ring. */
  readonly generation: number;
  /** The key that signs. */
  readonly active: { readonly kid: string; readonly privateJwk: JWK };
  /** Private halves of published keys that don't sign yet; the engine needs one for each key that it isn't told to only verify with. */
  readonly reserve: readonly { readonly kid: string; readonly privateJwk: JWK }[];
  /** Published: active first, then reserve, then retired. What JWKS shows and verification accepts. */
  readonly published: readonly PublicJwk[];
  /** When a key was last compromised, epoch milliseconds: for an hour from then, JWKS answers are cached for a minute at most. */
  readonly compromisedAt?: number | undefined;
};
