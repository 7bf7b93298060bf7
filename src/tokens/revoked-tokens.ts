// Deny records of machine tokens that were revoked before they expired. Users' tokens need none: their stored record is
// the truth.
import type { KeyedHash } from '../store/keyed-hash.ts';
import type { Clock, RecordStore } from '../store/store.ts';

const KIND = 'RevokedToken';
/**
 * A node must still see the record while it takes the token for valid: one whose clock is two minutes behind, of a token that one
 * made whose clock is two minutes ahead.
 */
const SKEW_SECONDS = 240;

export type RevokedTokens = ReturnType<typeof createRevokedTokens>;

export function createRevokedTokens(records: RecordStore, hash: KeyedHash, now: Clock) {
  return {
    /** `exp` of the token in epoch seconds. Throws StoreUnavailable: a revocation that wasn't written isn't one. */
    async add(jti: string, exp: number): Promise<void> {
      const ttlSeconds = Math.max(1, Math.ceil(exp - now() / 1000)) + SKEW_SECONDS;
      await records.save({ kind: KIND, key: hash(jti), payload: '1', ttlSeconds, isConfirmed: true });
    },
    /** Throws StoreUnavailable: what can't be asked is never called active. */
    async has(jti: string): Promise<boolean> {
      return (await records.find(KIND, hash(jti))) !== undefined;
    },
  };
}
