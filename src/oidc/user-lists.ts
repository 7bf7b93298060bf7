// The lists of users' sessions and grants (user-index.ts). The adapter updates them, the account page reads them.
import type { AdapterPayload } from 'oidc-provider';
import type { Config } from '../config/config.ts';
import type { Audit } from '../observability/audit.ts';
import type { Store } from '../store/store.ts';
import type { Accounts } from '../users/accounts.ts';
import type { StoredUsers } from '../users/stored-users.ts';
import type { OnUserEvent } from '../users/user-events.ts';
import { createUserIndex, removeUserLists } from '../users/user-index.ts';
import type { EndedSessions } from './ended-sessions.ts';
import { INTERNAL_CLIENT_ID } from './internal-client.ts';
import type { RecordParts } from './record-payload.ts';
import { createUserSessions, type UserSessions } from './user-sessions.ts';

type ListsParts = RecordParts & {
  readonly accounts: Accounts;
  readonly audit: Audit;
  readonly ended: EndedSessions;
};

export type UserLists = NonNullable<ReturnType<typeof userListsOf>>;

/** Undefined when nothing reads them: no account page, and no app that is notified when a session ends. */
export function userListsOf({ account, lifetimes }: Config, store: Store, parts: ListsParts) {
  if (!account && parts.ended.clientIds.size === 0) return undefined;
  const { clock, audit, tombstoneSeconds } = parts;
  // The store itself, because a look-up by alias would write a request's unit of work early.
  const { records, documents } = store;
  const index = createUserIndex(documents, () => Math.floor(clock.now() / 1000));
  const userSessions = createUserSessions({ ...parts, ...parts.accounts, index, records });
  return {
    index,
    userSessions,
    // First the list, then the record: a page skips an entry without a record, but a session that isn't listed couldn't be ended.
    async addSession({ accountId, uid, loginTs, place }: AdapterPayload): Promise<void> {
      if (accountId === undefined || uid === undefined || loginTs === undefined) return;
      const entry = { uid, ends: loginTs + clock.ahead + lifetimes.sessionAbsolute };
      for (const lost of await index.addSession(accountId, entry, place)) {
        if (!(await userSessions.end(accountId, lost.uid))) continue;
        audit.record('sign_out', 'success', { account_id: accountId, reason: 'too_many_sessions' });
      }
    },
    /** `key`: the key of the grant's record. */
    async addGrant(key: string, { accountId, clientId }: AdapterPayload, ttlSeconds: number): Promise<void> {
      if (accountId === undefined || clientId === undefined || clientId === INTERNAL_CLIENT_ID) return;
      const entry = { key, clientId, ends: Math.floor(clock.now() / 1000) + ttlSeconds };
      for (const lost of await index.addGrant(accountId, entry)) {
        await records.revokeGrant(lost.key, tombstoneSeconds);
        const of = { account_id: accountId, client_id: lost.clientId, reason: 'too_many_grants' };
        audit.record('grant_ended', 'success', of);
      }
    },
  };
}

/** `userSessions` is undefined when no app must be notified and no page lists sessions. */
export function createOnUserEvent(
  { documents }: Store,
  storedUsers: StoredUsers,
  userSessions: UserSessions | undefined,
): OnUserEvent {
  return async ({ accountId, what, clientIds }) => {
    if (what === 'ended' || what === 'deleted') await userSessions?.endVoid(accountId);
    for (const clientId of clientIds) await userSessions?.leave(accountId, clientId);
    const isGone = what === 'deleted' && (await storedUsers.findById(accountId)) === undefined;
    if (isGone) await removeUserLists(documents, accountId);
  };
}
