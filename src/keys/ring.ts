// The ring of signing keys as plain data, and the state of each key at a time. All times are epoch milliseconds.
import type { JWK } from 'jose';
import type { Timing } from '../config/key-times.ts';
import { type Algorithm, ALGORITHMS } from '../config/signing-algorithms.ts';

export type KeyState = 'published' | 'active' | 'retired' | 'removed' | 'compromised';

/** A key as JWKS shows it. `kid` is its RFC 7638 thumbprint, or the kid of a key that an earlier version imported. */
export type PublicJwk = JWK & {
  readonly kid: string;
  readonly alg: Algorithm;
  readonly kty: 'RSA' | 'EC' | 'OKP';
};

/** A sealed key that isn't in a ring yet. */
export type NewKey = Readonly<{
  kid: string;
  alg: Algorithm;
  createdAt: number;
  public: PublicJwk;
  /** The private JWK, sealed by the vault. Absent if destroyed. */
  sealed?: string | undefined;
}>;

/** A key and its times. Each node applies times in the future by its own clock. */
export type RingKey = NewKey & {
  /** When it was added to the ring, and so to the JWKS of each node. */
  readonly publishedAt: number;
  readonly activateAt?: number | undefined;
  readonly retireAt?: number | undefined;
  readonly removeAt?: number | undefined;
  readonly compromisedAt?: number | undefined;
};

export type SealedKey = RingKey & { readonly sealed: string };

export type Ring = Readonly<{
  /** 1 for the first ring, then +1 for each change. */
  generation: number;
  /** Published keys, and compromised ones until they become tombstones. Reserves sign in this order. */
  keys: readonly RingKey[];
  /** Removed keys, so that a kid is never used again. */
  gone: readonly Readonly<{ kid: string; at: number }>[];
  /** `pepper`: identifies it without revealing it. */
  installation?: Readonly<{ pepper: string; issuer?: string | undefined }> | undefined;
}>;

/** `now`: epoch milliseconds. `timing`: seconds. */
export type Moment = Readonly<{ now: number; timing: Timing }>;

/** The requested ring or change is invalid. */
export class KeyringError extends Error {}

export function stateOf(key: RingKey, now: number): KeyState {
  if (key.compromisedAt !== undefined) return 'compromised';
  if (isPast(key.removeAt, now)) return 'removed';
  if (isPast(key.retireAt, now)) return 'retired';
  return isPast(key.activateAt, now) ? 'active' : 'published';
}

/** If a clock is further behind the ring than this, the clock is wrong. */
const MOST_EARLY_MS = 30 * 86_400_000;

/**
 * The key that signs at `now`: the one that was activated last. If there is none, because a clock was ahead when the ring was changed,
 * the key that signed by that clock, although its time hasn't come. Undefined only if this clock is far behind the ring.
 */
export function activeKey(ring: Ring, now: number): SealedKey | undefined {
  const due = appointedAt(ring, now);
  if (due) return due;
  const early = appointedAt(ring, latestMoment(ring));
  const ahead = (early?.activateAt ?? 0) - now;
  return early && ahead > 0 && ahead < Math.max(MOST_EARLY_MS, now - early.publishedAt) ? early : undefined;
}

function appointedAt(ring: Ring, at: number): SealedKey | undefined {
  const active = ring.keys.filter(isSealed).filter((key) => stateOf(key, at) === 'active');
  return active.toSorted((a, b) => (b.activateAt ?? 0) - (a.activateAt ?? 0))[0];
}

/** The latest time in the changes of the ring. Unless compromised, a private part is destroyed after its key has retired. */
function latestMoment({ keys, gone }: Ring): number {
  const ends = keys.map((key) => key.compromisedAt ?? ((!isSealed(key) && key.retireAt) || 0));
  return Math.max(...ends, ...keys.map(({ publishedAt }) => publishedAt), ...gone.map(({ at }) => at));
}

export const isSealed = (key: RingKey): key is SealedKey => key.sealed !== undefined;

/** The keys of a JWKS at `now`, by algorithm: active first, then those that will sign, then those that only verify. */
export function publishedKeys(ring: Ring, now: number): readonly RingKey[] {
  return ALGORITHMS.flatMap((alg) => {
    const keys = ring.keys.filter((key) => key.alg === alg);
    const first = activeKey({ ...ring, keys }, now);
    const others = (['published', 'active', 'retired'] as const).flatMap((state) =>
      keys.filter((key) => key !== first && stateOf(key, now) === state),
    );
    return first === undefined ? others : [first, ...others];
  });
}

/** Whether a key of the ring signs, or will sign. */
export const canSign = (ring: Ring, now: number) =>
  ring.keys.some((key) => ['published', 'active'].includes(stateOf(key, now)));

/** Published keys without a time to sign, in the order in which they will sign. A valid ring has at least one. */
export const reserveKeys = (ring: Ring): readonly RingKey[] =>
  ring.keys.filter((key) => key.compromisedAt === undefined && key.activateAt === undefined);

/** The next key to sign comes first. */
export function scheduledKeys(ring: Ring, now: number): readonly RingKey[] {
  return ring.keys
    .filter((key) => key.compromisedAt === undefined && key.activateAt !== undefined && key.activateAt > now)
    .toSorted((a, b) => (a.activateAt ?? 0) - (b.activateAt ?? 0));
}

export const ms = (seconds: number) => seconds * 1000;

const isPast = (at: number | undefined, now: number) => at !== undefined && at <= now;
