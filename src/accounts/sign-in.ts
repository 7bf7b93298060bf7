// The act of signing in with a username and a password. Every failure looks the same from outside and costs the same;
// attempts are counted before the password is looked at.
import type { User } from '../config/config.ts';
import type { Accounts } from './accounts.ts';
import { MAX_PASSWORD_LENGTH, type Passwords } from './passwords.ts';
import { canonicalUsername } from '../config/username.ts';

/** Counts one attempt (canonical username, address) before the password is looked at; throws when there were too many. */
export type CountAttempt = (username: string, address: string) => Promise<() => void>;

/** The person, or undefined for every kind of refusal. */
export type SignIn = (username: string, password: string, address: string) => Promise<User | undefined>;

/** Throws PasswordQueueFull, StoreUnavailable, and what `countAttempt` throws. */
export function createSignIn(accounts: Accounts, passwords: Passwords, countAttempt: CountAttempt): SignIn {
  return async function signIn(username, password, address) {
    const takeBack = await countAttempt(canonicalUsername(username), address);
    const user = accounts.findByUsername(username);
    const tooLong = password.length > MAX_PASSWORD_LENGTH;
    const matches = await passwords.verify(user?.passwordHash ?? accounts.decoyHash, tooLong ? '' : password);
    // The state is asked in every case: a refusal takes the same steps whatever the reason (LG-18).
    const disabled = await accounts.isDisabled(user);
    if (!matches || tooLong || user === undefined || disabled) return undefined;
    takeBack();
    return user;
  };
}
