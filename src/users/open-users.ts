// What the store has of users, opened once for a process.
import type { KeyedHash } from '../store/keyed-hash.ts';
import type { DocumentStore } from '../store/store.ts';
import { createAccountStates } from './account-state.ts';
import { createFactorStore } from './factors.ts';
import { createStoredUsers } from './stored-users.ts';

export type OpenUsers = ReturnType<typeof openUsers>;

export const openUsers = (documents: DocumentStore, hash: KeyedHash) => ({
  states: createAccountStates(documents),
  storedUsers: createStoredUsers(documents),
  factors: createFactorStore(documents, hash),
});
