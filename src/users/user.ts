// A user at runtime, of the file or of the store. The difference is only decided here: other modules check what the user can do.
import type { UserEntry } from '../config/config.ts';

export type User = UserEntry & {
  /** The data of a user in the file is changed in the file only. */
  readonly source: 'file' | 'store';
  /** Like the one of AccountState, but changes with each password that is set here. 0 for a user in the file. */
  readonly validAfter: number;
  /** Users without a password sign in with a passkey. */
  readonly hasPassword: boolean;
  /** Whether the service may store another password, or another hash of the same password. */
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
