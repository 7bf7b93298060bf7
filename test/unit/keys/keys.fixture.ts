// Fixtures of the key tests: a clock that a test moves, real RSA keys generated once, and keys that are only names, for
// tests in which nothing is signed.
import { createHash, randomBytes } from 'node:crypto';
import type { Algorithm } from '../../../src/config/signing-algorithms.ts';
import { generateKey, type KeyMaterial } from '../../../src/keys/generate-key.ts';
import { KeyStore, type KeyStoreOptions } from '../../../src/keys/key-store.ts';
import type { PublicJwk } from '../../../src/keys/ring.ts';
import { toTiming } from '../../../src/config/key-times.ts';
import { Vault } from '../../../src/keys/vault.ts';
import { MemoryDocuments } from './memory-documents.fixture.ts';

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
export const START = Date.UTC(2026, 0, 1);

/** Times of the shipped configuration, in seconds. */
export const TIMES = {
  accessToken: 600,
  rotateEvery: 30 * 86_400,
  publishAhead: 86_400,
} as const;
export const TIMING = toTiming(TIMES);

/** A key that is only a name: the ring sees no difference, and a property test creates thousands. */
export function namedKey(name: string, alg: Algorithm = 'RS256'): KeyMaterial {
  const text = createHash('sha256').update(name).digest('base64url');
  const publicJwk = toNamedJwk(name, text, alg);
  return { kid: name, publicJwk, privateJwk: { ...publicJwk, d: `private part of ${name}` } };
}

function toNamedJwk(kid: string, text: string, alg: Algorithm): PublicJwk {
  const own = { use: 'sig', kid } as const;
  if (alg === 'ES256') return { ...own, kty: 'EC', alg, crv: 'P-256', x: text, y: text };
  if (alg === 'EdDSA') return { ...own, kty: 'OKP', alg, crv: 'Ed25519', x: text };
  return { ...own, kty: 'RSA', alg, n: text, e: 'AQAB' };
}

/** `k1`, `k2`, … */
export function namedKeys(): KeyStoreOptions['generateKey'] {
  let count = 0;
  return async (alg) => {
    count += 1;
    return namedKey(`k${count}`, alg);
  };
}

let pool: Promise<KeyMaterial[]> | undefined;

/** Three real keys of 2048 bits, the same for a whole test file. */
export function realKeys(): Promise<KeyMaterial[]> {
  pool ??= Promise.all([generateKey(2048), generateKey(2048), generateKey(2048)]);
  return pool;
}

export const kek = (): Buffer => randomBytes(32);

export type World = {
  readonly documents: MemoryDocuments;
  readonly clock: { now: number };
  readonly vault: Vault;
  readonly now: () => number;
  readonly generateKey: KeyStoreOptions['generateKey'];
  /** Another process on the same store. */
  readonly process: (overrides?: Partial<KeyStoreOptions>) => KeyStore;
};

export function createWorld(keks: readonly Buffer[] = [kek()]): World {
  const documents = new MemoryDocuments();
  const clock = { now: START };
  const now = (): number => clock.now;
  const vault = new Vault(keks);
  const makeKey = namedKeys();
  return {
    documents,
    clock,
    vault,
    now,
    generateKey: makeKey,
    process: (overrides) =>
      new KeyStore({ documents, vault, now, timing: TIMING, generateKey: makeKey, ...overrides }),
  };
}
