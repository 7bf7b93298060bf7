// The lists of what a person has, for one application: what the adapter writes and the account page reads.
import type { Config } from '../config/config.ts';
import type { AdapterParts } from './adapter.ts';
import { logoutClientsOf } from './clients.ts';
import { createLogoutJobs } from './logout-jobs.ts';
import { createPersonIndex } from './person-index.ts';
import { createPersonLists } from './person-lists.ts';
import { createPersonSessions } from './person-sessions.ts';
import type { Audit } from '../observability/audit.ts';
import type { Store } from '../store/store.ts';
import { createAccountStates } from '../users/account-state.ts';
import { type Accounts, createAccounts } from '../users/accounts.ts';
import { createPeople } from '../users/people.ts';

type ListsParts = Pick<AdapterParts, 'hash' | 'clock' | 'tombstoneSeconds' | 'onDamaged'> & {
  readonly findLive: Accounts['findLive'];
  readonly audit?: Audit;
};

/** Undefined where nobody asks for them: no account page, and no app that is notified when a session ends. */
export function personListsOf(config: Config, store: Store, adapter: ListsParts) {
  const logoutClients = logoutClientsOf(config);
  if (!config.account && logoutClients.size === 0) return undefined;
  const { hash, clock, tombstoneSeconds, onDamaged, findLive, audit } = adapter;
  // The store itself: looking something up by its second name ends the unit of work of a request.
  const { records, documents } = store;
  const index = createPersonIndex(documents, () => Math.floor(clock.now() / 1000));
  const now = accountsOf(config, store);
  const found = { index, records, hash, clock, onDamaged, findLive, tombstoneSeconds };
  const personSessions = createPersonSessions({
    ...found,
    findLiveNow: (id, issued) => now.findLive(id, issued),
    logoutJobs: createLogoutJobs(documents, clock.now),
    logoutClients,
  });
  const parts = { ...found, sessions: personSessions };
  const lists = createPersonLists({ ...parts, audit, sessionSeconds: config.lifetimes.sessionAbsolute });
  return { index, personSessions, lists, parts };
}

/** As they are in the store now. */
export function accountsOf({ users, signIn }: Config, { documents, clock }: Store): Accounts {
  const states = createAccountStates(documents);
  const people = createPeople(documents);
  const factorsAreOff = signIn === undefined;
  return createAccounts({ users, states, people, factorsAreOff, remembered: { states, people }, clock });
}
