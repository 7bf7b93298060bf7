// What is left of a session that ended.
import type { NewRecord, StoredRecord } from '../store/store.ts';

/** What the engine calls them. */
export const SESSION = 'Session';
/** For as long as a request may be under way, and more. */
const ENDED_SECONDS = 3600;

/** The mark survives a save by a request that began before. */
export function toEnded({ key, alias }: Pick<StoredRecord, 'key' | 'alias'>): NewRecord {
  const ended = { kind: SESSION, key, alias, payload: '{}', ttlSeconds: ENDED_SECONDS };
  return { ...ended, isConsumed: true, isConfirmed: true };
}
