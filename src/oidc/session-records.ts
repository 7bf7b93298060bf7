// How a browser's session is saved and ended. The engine saves it at the end of every request, also of one that began before it
// ended, and gives it a new id when somebody signs in, also in two tabs at once.
import type { AdapterPayload } from 'oidc-provider';
import type { KeyedHash } from '../store/keyed-hash.ts';
import type { NewRecord, StoredRecord } from '../store/store.ts';
import type { UnitOfWork } from '../store/unit-of-work.ts';
import { recordKey } from './record-key.ts';
import type { RecordPayload } from './record-payload.ts';

const KIND = 'Session';
/** For as long as a request may be under way, and more. */
const ENDED_SECONDS = 3600;

type SessionParts = { readonly records: UnitOfWork; readonly hash: KeyedHash };
/** `oldId`: the session that this one follows. */
type SessionPayload = AdapterPayload & { readonly oldId?: string };

export function createSessionRecords({ records, hash }: SessionParts, toText: RecordPayload['toText']) {
  // In a request it has been read before.
  const find = (id: string) => records.find(KIND, recordKey(hash, KIND, id));

  return {
    async save(id: string, { oldId, ...payload }: SessionPayload, ttlSeconds: number): Promise<void> {
      // What isn't stored can't be followed.
      const old = oldId === undefined ? undefined : await find(oldId);
      await records.save({
        kind: KIND,
        key: recordKey(hash, KIND, id),
        payload: toText(id, payload),
        ttlSeconds,
        alias: hash(`uid:${payload.uid}`),
        follows: old?.key,
      });
      // The engine has ended it already; now it leaves its alias to the new one.
      if (old !== undefined) await records.save(toEnded({ ...old, alias: undefined }));
    },
    async end(id: string): Promise<void> {
      const session = await find(id);
      if (session !== undefined) await records.save(toEnded(session));
    },
  };
}

/** The mark survives a save by a request that began before. */
function toEnded({ key, alias }: Pick<StoredRecord, 'key' | 'alias'>): NewRecord {
  const ended = { kind: KIND, key, alias, payload: '{}', ttlSeconds: ENDED_SECONDS };
  return { ...ended, isConsumed: true, isConfirmed: true };
}
