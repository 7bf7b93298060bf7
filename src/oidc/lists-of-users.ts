// The lists of what a user has, for one application: what the adapter writes and the account page reads.
import type { Config } from '../config/config.ts';
import { logoutClientsOf } from './clients.ts';
import { createLogoutJobs } from './logout-jobs.ts';
import type { RecordParts } from './record-payload.ts';
import { createUserIndex } from './user-index.ts';
import { createUserLists } from './user-lists.ts';
import { createUserSessions } from './user-sessions.ts';
import type { Audit } from '../observability/audit.ts';
import type { Store } from '../store/store.ts';
import { createAccountStates } from '../users/account-state.ts';
import { type Accounts, createAccounts } from '../users/accounts.ts';
import { createStoredUsers } from '../users/stored-users.ts';

type ListsParts = RecordParts & {
  readonly findLive: Accounts['findLive'];
  readonly audit?: Audit;
};

/** Undefined where nobody asks for them: no account page, and no app that is notified when a session ends. */
export function userListsOf(config: Config, store: Store, adapter: ListsParts) {
  const logoutClients = logoutClientsOf(config);
  if (!config.account && logoutClients.size === 0) return undefined;
  const { hash, clock, tombstoneSeconds, onDamaged, findLive, audit } = adapter;
  // The store itself: looking something up by its second name ends the unit of work of a request.
  const { records, documents } = store;
  const index = createUserIndex(documents, () => Math.floor(clock.now() / 1000));
  const now = accountsOf(config, store);
  const found = { index, records, hash, clock, onDamaged, findLive, tombstoneSeconds };
  const userSessions = createUserSessions({
    ...found,
    findLiveNow: (id, issued) => now.findLive(id, issued),
    logoutJobs: createLogoutJobs(documents, clock.now),
    logoutClients,
  });
  const parts = { ...found, sessions: userSessions };
  const lists = createUserLists({ ...parts, audit, sessionSeconds: config.lifetimes.sessionAbsolute });
  return { index, userSessions, lists, parts };
}

/** As they are in the store now. */
export function accountsOf({ users, signIn }: Config, { documents, clock }: Store): Accounts {
  const states = createAccountStates(documents);
  const storedUsers = createStoredUsers(documents);
  return createAccounts({ users, states, storedUsers, factorsAreOff: signIn === undefined, clock });
}
