// The lists of what a user has, for one application: what the adapter writes and the account page reads.
import type { Config } from '../config/config.ts';
import type { EndedSessions } from './ended-sessions.ts';
import type { RememberedConsents } from './policies/remembered-consents.ts';
import type { HearOfUser } from '../users/user-events.ts';
import { createUserIndex, removeUserLists } from '../users/user-index.ts';
import type { RecordParts } from './record-payload.ts';
import { createUserGrants } from './user-grants.ts';
import { createUserLists } from './user-lists.ts';
import { createUserSessions, type UserSessions } from './user-sessions.ts';
import type { Audit } from '../observability/audit.ts';
import type { Store } from '../store/store.ts';
import type { Accounts } from '../users/accounts.ts';
import type { StoredUsers } from '../users/stored-users.ts';

type ListsParts = RecordParts & {
  readonly accounts: Accounts;
  readonly audit: Audit;
  readonly ended: EndedSessions;
};

/** Undefined where nobody asks for them: no account page, and no app that is notified when a session ends. */
export function userListsOf(config: Config, store: Store, parts: ListsParts, consents: RememberedConsents) {
  if (!config.account && parts.ended.clientIds.size === 0) return undefined;
  // The store itself: looking something up by its second name ends the unit of work of a request.
  const { records, documents } = store;
  const index = createUserIndex(documents, () => Math.floor(parts.clock.now() / 1000));
  const found = { ...parts, ...parts.accounts, index, records };
  const userSessions = createUserSessions(found);
  return {
    index,
    userSessions,
    lists: createUserLists(found, userSessions, config.lifetimes.sessionAbsolute),
    grants: createUserGrants(found, userSessions, consents),
  };
}

/** `userSessions` undefined: no app has to be told, and no page lists them. */
export function createHearOfUser(
  { documents }: Store,
  storedUsers: StoredUsers,
  userSessions: UserSessions | undefined,
): HearOfUser {
  return async ({ accountId, what, clientIds }) => {
    if (what !== 'left') await userSessions?.endVoid(accountId);
    for (const clientId of clientIds) await userSessions?.leave(accountId, clientId);
    const isGone = what === 'deleted' && (await storedUsers.findById(accountId)) === undefined;
    if (isGone) await removeUserLists(documents, accountId);
  };
}
