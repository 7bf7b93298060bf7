// The act of signing in with a username and a password. Every failure looks the same from outside and costs the same;
// attempts are counted before the password is looked at.
import type { User } from '../config/config.ts';
import { canonicalUsername } from '../config/username.ts';
import type { BegunSignIn, SignInAttempt } from '../limits/sign-in-attempts.ts';
import { type Clock, StoreUnavailable } from '../store/store.ts';
import type { Accounts } from './accounts.ts';
import type { Devices } from './devices.ts';
import { MAX_PASSWORD_LENGTH, passwordForms } from './password-rules.ts';
import { hashPassword, isWeakerThanPolicy, PasswordQueueFull, type Passwords } from './passwords.ts';
import type { People } from './people.ts';

/** One try, as the page sent it. */
export type Credentials = {
  readonly username: string;
  readonly password: string;
  readonly address: string;
  /** What the browser remembers (devices.ts), or nothing. */
  readonly device: string;
};

/** Counts one attempt before the password is looked at. Throws when there were too many, and StoreUnavailable. */
export type CountAttempt = (attempt: SignInAttempt) => Promise<BegunSignIn>;

export type SignedIn = {
  readonly user: User;
  /** Epoch seconds, from before the password was looked at: what voids earlier sign-ins voids this one, however late it is finished. */
  readonly at: number;
  /** What the browser remembers from now on. */
  readonly device: string;
};

/** For the operator's eyes alone: whoever tried is told one thing, whatever it was. */
export type Refused = {
  readonly user: undefined;
  readonly reason: 'unknown' | 'wrong_password' | 'disabled';
  /** Who was meant, where there is such a person. */
  readonly meant: User | undefined;
};

export type SignIn = (credentials: Credentials) => Promise<SignedIn | Refused>;

export type SignInParts = {
  readonly accounts: Accounts;
  readonly people: People;
  readonly passwords: Passwords;
  readonly devices: Devices;
  readonly countAttempt: CountAttempt;
  readonly now: Clock;
};

/** Throws PasswordQueueFull, StoreUnavailable, and what `countAttempt` throws. */
export function createSignIn(parts: SignInParts): SignIn {
  const { accounts, people, passwords, devices, countAttempt, now } = parts;

  async function verifyOne(passwordHash: string | undefined, password: string): Promise<boolean> {
    if (password.length > MAX_PASSWORD_LENGTH) {
      await passwords.verify(passwordHash, '');
      return false;
    }
    // How often depends on what was typed and never on whose password it is.
    const results: boolean[] = [];
    for (const form of passwordForms(password)) results.push(await passwords.verify(passwordHash, form));
    return results.includes(true);
  }

  /** People of the file have theirs renewed by whoever keeps the file. */
  async function renewHash({ id, passwordHash }: User, password: string): Promise<void> {
    if (!isWeakerThanPolicy(passwordHash)) return;
    try {
      const renewed = await passwords.run(() => hashPassword(password));
      await people.renewHash(id, passwordHash, renewed);
    } catch (error) {
      // The person is signed in all the same, and the next sign-in tries again.
      if (!(error instanceof PasswordQueueFull || error instanceof StoreUnavailable)) throw error;
    }
  }

  return async function signIn({ username, password, address, device }) {
    const at = Math.floor(now() / 1000);
    const found = await accounts.findByUsername(username);
    const { user } = found;
    const account = user?.id ?? canonicalUsername(username);
    const attempt = await countAttempt({
      account,
      since: found.attemptsSince,
      exists: user !== undefined,
      address,
      device: devices.find(device, account),
    });
    let matches: boolean;
    try {
      matches = await verifyOne(user?.passwordHash ?? accounts.decoyHash, password);
    } catch (error) {
      attempt.takeBack();
      throw error;
    }
    // Asked in every case: a refusal takes the same steps whatever the reason (LG-18).
    const mayGoOn = await accounts.maySignIn(found);
    if (user === undefined) return { user: undefined, reason: 'unknown', meant: undefined };
    if (!matches || !mayGoOn) {
      return { user: undefined, reason: matches ? 'disabled' : 'wrong_password', meant: user };
    }
    await attempt.succeed();
    if (found.source === 'store') await renewHash(user, password);
    return { user, at, device: devices.renew(device, user.id) };
  };
}
