// The lists of what a user has (user-index.ts), for one application: kept as the adapter saves sessions and grants, read by the account page.
import type { AdapterPayload } from 'oidc-provider';
import type { Config } from '../config/config.ts';
import type { Audit } from '../observability/audit.ts';
import type { Store } from '../store/store.ts';
import type { Accounts } from '../users/accounts.ts';
import type { StoredUsers } from '../users/stored-users.ts';
import type { HearOfUser } from '../users/user-events.ts';
import { createUserIndex, removeUserLists } from '../users/user-index.ts';
import type { EndedSessions } from './ended-sessions.ts';
import { OWN_CLIENT_ID } from './own-client.ts';
import type { RecordParts } from './record-payload.ts';
import { createUserSessions, type UserSessions } from './user-sessions.ts';

type ListsParts = RecordParts & {
  readonly accounts: Accounts;
  readonly audit: Audit;
  readonly ended: EndedSessions;
};

export type UserLists = NonNullable<ReturnType<typeof userListsOf>>['lists'];

/** Undefined where nobody asks for them: no account page, and no app that is notified when a session ends. */
export function userListsOf({ account, lifetimes }: Config, store: Store, parts: ListsParts) {
  if (!account && parts.ended.clientIds.size === 0) return undefined;
  const { clock, audit, tombstoneSeconds } = parts;
  // The store itself: looking something up by its second name ends the unit of work of a request.
  const { records, documents } = store;
  const index = createUserIndex(documents, () => Math.floor(clock.now() / 1000));
  const userSessions = createUserSessions({ ...parts, ...parts.accounts, index, records });
  const lists = {
    // First the list, then the record: what was never saved is in no page, and what no list has couldn't be ended.
    async addSession({ accountId, uid, loginTs, place }: AdapterPayload): Promise<void> {
      if (accountId === undefined || uid === undefined || loginTs === undefined) return;
      const entry = { uid, ends: loginTs + clock.ahead + lifetimes.sessionAbsolute };
      for (const lost of await index.addSession(accountId, entry, place)) {
        if (!(await userSessions.end(accountId, lost.uid))) continue;
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
  return { index, userSessions, lists };
}

/** `userSessions` undefined: no app has to be told, and no page lists them. */
export function createHearOfUser(
  { documents }: Store,
  storedUsers: StoredUsers,
  userSessions: UserSessions | undefined,
): HearOfUser {
  return async ({ accountId, what, clientIds }) => {
    if (what === 'ended' || what === 'deleted') await userSessions?.endVoid(accountId);
    for (const clientId of clientIds) await userSessions?.leave(accountId, clientId);
    const isGone = what === 'deleted' && (await storedUsers.findById(accountId)) === undefined;
    if (isGone) await removeUserLists(documents, accountId);
  };
}
