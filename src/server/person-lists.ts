// The lists of what a person has, for one application: what the adapter writes and the account page reads.
import type { Config } from '../config/config.ts';
import type { AdapterParts } from '../oidc/adapter.ts';
import { createPersonIndex, type SessionEntry } from '../oidc/person-index.ts';
import { createPersonLists } from '../oidc/person-lists.ts';
import { createPersonSessions } from '../oidc/person-sessions.ts';
import { SESSION } from '../oidc/ended-session.ts';
import { GRANT, type Store } from '../store/store.ts';

type ListsParts = Pick<AdapterParts, 'hash' | 'clock' | 'tombstoneSeconds' | 'onDamaged'> & {
  readonly accounts: Pick<AdapterParts['accounts'], 'findLive'>;
};

/** Undefined where nobody asks for them. */
export function personListsOf({ account, lifetimes }: Config, store: Store, adapter: ListsParts) {
  if (!account) return undefined;
  const { hash, clock, tombstoneSeconds, onDamaged, accounts } = adapter;
  // The store itself: looking something up by its second name ends the unit of work of a request.
  const { records, documents } = store;
  const index = createPersonIndex({
    documents,
    seconds: () => Math.floor(clock.now() / 1000),
    async isLive(entry) {
      const record = isSession(entry)
        ? await records.findByAlias(SESSION, hash(`uid:${entry.uid}`))
        : await records.find(GRANT, entry.key);
      return record !== undefined && record.consumedAt === undefined;
    },
  });
  const findLive: AdapterParts['accounts']['findLive'] = (id, issued) => accounts.findLive(id, issued);
  const parts = { index, records, hash, clock, onDamaged, findLive, tombstoneSeconds };
  const sessions = createPersonSessions(parts);
  const lists = createPersonLists({ ...parts, sessions, sessionSeconds: lifetimes.sessionAbsolute });
  return { index, sessions, lists, parts };
}

const isSession = (entry: object): entry is SessionEntry => 'uid' in entry;
