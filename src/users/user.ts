// A user at runtime, of the file or of the store. The difference is only decided here: other modules check what the user can do.
import type { UserEntry } from '../config/config.ts';

export type User = Readonly<ReturnType<typeof toUser>>;

function toUser(entry: UserEntry, source: 'file' | 'store', validAfter: number) {
  return {
    ...entry,
    /** The data of a user in the file is changed in the file only. */
    source,
    /** Like the one of AccountState, but changes with each password that is set here. 0 for a user in the file. */
    validAfter,
    /** Users without a password sign in with a passkey. */
    hasPassword: entry.passwordHash !== undefined,
    /** Whether the service may store another password, or another hash of the same password. */
    canSetPassword: source === 'store',
  };
}

export const userOfFile = (entry: UserEntry): User => toUser(entry, 'file', 0);

export const userOfStore = (stored: Omit<UserEntry, 'disabled'> & Pick<User, 'validAfter'>): User =>
  toUser({ ...stored, disabled: false }, 'store', stored.validAfter);
