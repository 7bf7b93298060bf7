// Sign-ins whose password was right and whose second factor is pending: a record beside the interaction, so that no session is made
// before, and any process can go on with it.
import { parseJsonObject } from '../config/parse-fields.ts';
import type { SignInAttempt } from '../limits/sign-in-attempts.ts';
import type { KeyedHash } from '../store/keyed-hash.ts';
import { isWhole } from '../store/shape.ts';
import type { RecordStore } from '../store/store.ts';
import type { Issued } from '../users/accounts.ts';

const KIND = 'HalfSignIn';
/** Then the password is asked for again. */
const SECONDS = 300;

export type HalfSignIn = Readonly<{
  accountId: string;
  username: string;
  /** The time of the password: what ends the user's sessions from before ends this as well. */
  issued: Issued;
  /** Counted, and forgotten when the whole sign-in is done. */
  attempt: SignInAttempt;
}>;

export type HalfSignIns = ReturnType<typeof createHalfSignIns>;

export function createHalfSignIns(records: RecordStore, hash: KeyedHash) {
  const keyOf = (uid: string) => hash(`half sign-in:${uid}`);
  return {
    async begin(uid: string, half: HalfSignIn): Promise<void> {
      const payload = JSON.stringify(half);
      await records.save({ kind: KIND, key: keyOf(uid), payload, ttlSeconds: SECONDS });
    },
    async find(uid: string): Promise<HalfSignIn | undefined> {
      const record = await records.find(KIND, keyOf(uid));
      const half = record && parseJsonObject(record.payload);
      return isWhole(half, ['accountId', 'username', 'issued', 'attempt'])
        ? (half as HalfSignIn | undefined)
        : undefined;
    },
    async end(uid: string): Promise<void> {
      await records.destroy(KIND, keyOf(uid));
    },
  };
}
