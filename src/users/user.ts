// A user at run time, of the file or of the store. What differs between the two is decided here: others ask what the user can do.
import type { UserEntry } from '../config/config.ts';

export type User = UserEntry & {
  /** What is in an entry of the users file is changed there, and only there. */
  readonly source: 'file' | 'store';
  /** As that of an AccountState; changes with each password that is set here. 0 for a user of the file. */
  readonly validAfter: number;
  /** Users without one sign in with a passkey. */
  readonly hasPassword: boolean;
  /** Whether the service may store another password, or another hash of the same. */
  readonly canSetPassword: boolean;
};

const toUser = (entry: UserEntry, source: User['source'], validAfter: number): User => ({
  ...entry,
  source,
  validAfter,
  hasPassword: entry.passwordHash !== undefined,
  canSetPassword: source === 'store',
});

export const userOfFile = (entry: UserEntry): User => toUser(entry, 'file', 0);

export const userOfStore = (stored: Omit<UserEntry, 'disabled'> & Pick<User, 'validAfter'>): User =>
  toUser({ ...stored, disabled: false }, 'store', stored.validAfter);
