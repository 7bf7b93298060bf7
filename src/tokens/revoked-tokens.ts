// Deny records of machine tokens that were revoked before they expired. Users' tokens need none, because their stored
// record decides.
import { SKEW_SECONDS } from '../config/key-times.ts';
import type { KeyedHash } from '../store/keyed-hash.ts';
import type { Clock, RecordStore } from '../store/store.ts';

const KIND = 'RevokedToken';

export type RevokedTokens = ReturnType<typeof createRevokedTokens>;

export function createRevokedTokens(records: RecordStore, hash: KeyedHash, now: Clock) {
  return {
    /** `exp` of the token in epoch seconds. Throws StoreUnavailable when the revocation wasn't written. */
    async add(jti: string, exp: number): Promise<void> {
      // As long as any node accepts the token: even one whose clock is behind, for a token from one whose clock is ahead.
      const ttlSeconds = Math.max(1, Math.ceil(exp - now() / 1000)) + 2 * SKEW_SECONDS;
      await records.save({ kind: KIND, key: hash(jti), payload: '1', ttlSeconds, isConfirmed: true });
    },
    /** Throws StoreUnavailable: without an answer no token is called active. */
    async has(jti: string): Promise<boolean> {
      return (await records.find(KIND, hash(jti))) !== undefined;
    },
  };
}
