// The sessions of a user, and how one browser ends the session of another. The effect is that of a sign-out in the other browser:
// grants that depend on the session end with it, and lasting access remains.
import type { AdapterPayload } from 'oidc-provider';
import type { Accounts } from '../users/accounts.ts';
import { parseForm } from '../store/form.ts';
import { GRANT, type NewRecord, type RecordStore, type StoredRecord } from '../store/store.ts';
import type { EndedSessions } from './ended-sessions.ts';
import type { UserIndex } from '../users/user-index.ts';
import { createRecordForm, recordKey, type RecordParts } from './record-payload.ts';
import { issuedBySession } from './seam/session-sign-in.ts';

export const SESSION = 'Session';
/** Longer than any request takes. */
const ENDED_SECONDS = 3600;

/** The record of an ended session. Its mark survives a save by a request that began before. */
export function toEnded({ key, alias }: Pick<StoredRecord, 'key' | 'alias'>): NewRecord {
  const ended = { kind: SESSION, key, alias, payload: '{}', ttlSeconds: ENDED_SECONDS };
  return { ...ended, isConsumed: true, isConfirmed: true };
}

export async function revokeGrantsOf(
  { authorizations = {} }: Pick<AdapterPayload, 'authorizations'>,
  { records, hash, tombstoneSeconds }: Pick<SessionsParts, 'records' | 'hash' | 'tombstoneSeconds'>,
): Promise<void> {
  const ending = Object.values(authorizations).filter(({ persistsLogout }) => persistsLogout !== true);
  const grantIds = ending.flatMap(({ grantId }) => grantId ?? []);
  const revoke = (id: string) => records.revokeGrant(recordKey(hash, GRANT, id), tombstoneSeconds);
  await Promise.all(grantIds.map(revoke));
}

type SessionsParts = RecordParts & {
  readonly index: Pick<UserIndex, 'sessionsOf'>;
  readonly records: Pick<RecordStore, 'findByAlias' | 'save' | 'revokeGrant'>;
  /** Like `findLive`, but includes the changes of this request. */
  readonly findLiveNow: Accounts['findLive'];
  readonly ended: EndedSessions;
};

export type FoundSession = Readonly<{
  uid: string;
  record: StoredRecord;
  session: AdapterPayload;
}>;

export type UserSessions = ReturnType<typeof createUserSessions>;

export function createUserSessions(parts: SessionsParts) {
  const { index, records, hash, clock, findLiveNow, ended } = parts;
  const { payloadOf } = createRecordForm(SESSION, parts);

  async function find(accountId: string, uid: string): Promise<FoundSession | undefined> {
    const record = await records.findByAlias(SESSION, hash(`uid:${uid}`));
    if (record === undefined || record.consumedAt !== undefined) return undefined;
    const session = payloadOf(record);
    return session?.accountId === accountId ? { uid, record, session } : undefined;
  }

  async function findAll(accountId: string): Promise<readonly FoundSession[]> {
    const entries = await index.sessionsOf(accountId);
    const found = await Promise.all(entries.map(({ uid }) => find(accountId, uid)));
    return found.filter((one) => one !== undefined);
  }

  function changed({ key, alias, payload }: StoredRecord, members: object): NewRecord {
    const form = parseForm(payload, 'a Session');
    const ttlSeconds = Math.ceil(Number(form['exp']) - clock.now() / 1000);
    const text = JSON.stringify({ ...form, ...members });
    return { kind: SESSION, key, alias, payload: text, ttlSeconds: Math.max(1, ttlSeconds) };
  }

  async function endFound({ record, session }: FoundSession): Promise<void> {
    await ended.add(session);
    await revokeGrantsOf(session, parts);
    await records.save(toEnded(record));
  }

  return {
    findAll,
    /** Resolves false if the session isn't the user's or has already ended. */
    async end(accountId: string, uid: string): Promise<boolean> {
      let found = await find(accountId, uid);
      const wasThere = found !== undefined;
      while (found !== undefined) {
        await endFound(found);
        // Its browser may have returned from a sign-in page meanwhile: the session then continues under another key.
        found = await find(accountId, uid);
      }
      return wasThere;
    },
    /** Ends sessions whose sign-in is no longer valid (users/accounts.ts), so that their apps are notified. */
    async endVoid(accountId: string): Promise<void> {
      if (ended.clientIds.size === 0) return;
      for (const { record, session } of await findAll(accountId)) {
        if ((await findLiveNow(accountId, issuedBySession(session))) !== undefined) continue;
        await ended.add(session);
        await records.save(toEnded(record));
      }
    },
    /** Ends the user's sessions at this app only; a later sign-in there has another `sid`. */
    async leave(accountId: string, clientId: string): Promise<void> {
      if (!ended.clientIds.has(clientId)) return;
      for (const { record, session } of await findAll(accountId)) {
        const { [clientId]: left, ...authorizations } = session.authorizations ?? {};
        if (left === undefined) continue;
        await ended.add({ accountId, authorizations: { [clientId]: left } });
        await records.save(changed(record, { authorizations }));
      }
    },
  };
}
