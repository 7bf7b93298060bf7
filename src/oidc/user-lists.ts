// Keeps the lists of a user's sessions and grants (user-index.ts) as the adapter saves these.
import type { AdapterPayload } from 'oidc-provider';
import type { Audit } from '../observability/audit.ts';
import type { RecordStore, StoreClock } from '../store/store.ts';
import { OWN_CLIENT_ID } from './own-client.ts';
import type { Place, UserIndex } from '../users/user-index.ts';
import type { UserSessions } from './user-sessions.ts';

type Session = AdapterPayload & { readonly place?: Place };

type UserListsParts = Readonly<{
  clock: StoreClock;
  tombstoneSeconds: number;
  index: UserIndex;
  records: Pick<RecordStore, 'revokeGrant'>;
  audit: Audit;
}>;

export type UserLists = ReturnType<typeof createUserLists>;

export function createUserLists(parts: UserListsParts, sessions: UserSessions, sessionSeconds: number) {
  const { index, records, clock, tombstoneSeconds, audit } = parts;
  return {
    // First the list, then the record: what was never saved is in no page, and what no list has couldn't be ended.
    async addSession({ accountId, uid, loginTs, place }: Session): Promise<void> {
      if (accountId === undefined || uid === undefined || loginTs === undefined) return;
      const entry = { uid, ends: loginTs + clock.ahead + sessionSeconds };
      for (const lost of await index.addSession(accountId, entry, place)) {
        if (!(await sessions.end(accountId, lost.uid))) continue;
        audit.record('sign_out', 'success', { account_id: accountId, reason: 'too_many_sessions' });
      }
    },
    /** `key`: of the record. */
    async addGrant(key: string, { accountId, clientId }: AdapterPayload, ttlSeconds: number): Promise<void> {
      if (accountId === undefined || clientId === undefined || clientId === OWN_CLIENT_ID) return;
      const entry = { key, clientId, ends: Math.floor(clock.now() / 1000) + ttlSeconds };
      for (const lost of await index.addGrant(accountId, entry)) {
        await records.revokeGrant(lost.key, tombstoneSeconds);
        const of = { account_id: accountId, client_id: lost.clientId, reason: 'too_many_grants' };
        audit.record('grant_ended', 'success', of);
      }
    },
  };
}
