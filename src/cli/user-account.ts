// What the verbs of `postern user` end and note of a user, as the service does.
import type { Config } from '../config/config.ts';
import { createTombstoneSeconds } from '../oidc/lifetimes.ts';
import type { SecurityEvent } from '../users/user-index.ts';
import { userListsOf } from '../oidc/lists-of-users.ts';
import type { KeyedHash } from '../store/keyed-hash.ts';
import type { Store } from '../store/store.ts';
import type { Accounts } from '../users/accounts.ts';

/** The service reports what is damaged. */
const ignore = () => undefined;

/** Undefined while nobody asks for the lists. */
export function openUserAccount(config: Config, store: Store, hash: KeyedHash, accounts: Accounts) {
  const { clock } = store;
  const tombstoneSeconds = createTombstoneSeconds()(config);
  const lists = userListsOf(config, store, {
    hash,
    clock,
    tombstoneSeconds,
    onDamaged: ignore,
    accounts,
  });
  if (lists === undefined) return undefined;
  const { index, userSessions } = lists;
  return {
    endVoid: (accountId: string) => userSessions.endVoid(accountId),
    leave: (accountId: string, clientId: string) => userSessions.leave(accountId, clientId),
    tell: (accountId: string, what: SecurityEvent['what']) => index.addEvent(accountId, { what }),
  };
}
