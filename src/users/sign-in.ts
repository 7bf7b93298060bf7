// The act of signing in with a username and a password. Every failure looks the same from outside and costs the same;
// attempts are counted before the password is looked at.
import { canonicalUsername } from '../config/text.ts';
import { TooManyRequests } from '../limits/limits.ts';
import type { BegunSignIn, SignInAttempt } from '../limits/sign-in-attempts.ts';
import { type Clock, StoreUnavailable } from '../store/store.ts';
import type { Accounts, Comparison, Found } from './accounts.ts';
import { type FactorStore, hasSecondFactor } from './factors.ts';
import type { TrustedBrowsers } from './trusted-browsers.ts';
import { MAX_PASSWORD_LENGTH, passwordForms } from './password-rules.ts';
import {
  hashPassword,
  isWeakerThanPolicy,
  PasswordQueueFull,
  type Passwords,
  type Share,
} from './passwords.ts';
import type { StoredUsers } from './stored-users.ts';
import type { User } from './user.ts';

/** One try, as the page sent it. */
export type Credentials = Readonly<{
  username: string;
  password: string;
  address: string;
  /** What the browser remembers (trusted-browsers.ts), or nothing. */
  device: string;
}>;

/** Counts one attempt before the password is looked at. Throws when there were too many, and StoreUnavailable. */
export type CountAttempt = (attempt: SignInAttempt) => Promise<BegunSignIn>;

type RightPassword = Readonly<{
  user: User;
  /** Epoch seconds, from before the password was looked at: what voids earlier sign-ins voids this one, however late it is finished. */
  at: number;
  /** As of `at`, for the same reason. */
  generation: string;
}>;

export type SignedIn = RightPassword & {
  /** What the browser remembers from now on. */
  readonly device: string;
};

/** The password was right, and the second factor is pending: there is no session, and earlier failures still count. */
export type PasswordAccepted = RightPassword & { readonly pending: SignInAttempt };

/** For the audit trail alone: the page shows the same text for every reason. */
export type Refused = Readonly<{
  user: undefined;
  reason: 'unknown' | 'wrong_password' | 'disabled' | 'factors_off';
  /** Who was meant, where there is such a user. */
  meant: User | undefined;
  /** Failures in a row of unknown places, this one included; 0 for a failure that isn't part of that row. */
  failures: number;
}>;

/** Nobody knows whether the password was right: there were too many attempts, or something is overloaded or away. */
export type NotDecided = Readonly<{
  user: undefined;
  reason: 'too_many_attempts' | 'busy' | 'unavailable';
  /** As in Refused; undefined also where the store didn't answer. */
  meant: User | undefined;
  cause: TooManyRequests | PasswordQueueFull | StoreUnavailable;
}>;

type SignInParts = Readonly<{
  accounts: Accounts;
  storedUsers: StoredUsers;
  passwords: Passwords;
  trustedBrowsers: TrustedBrowsers;
  countAttempt: CountAttempt;
  beside: (write: () => Promise<unknown>) => Promise<unknown>;
  /** Undefined where the file says nothing of second factors. */
  factors?: Pick<FactorStore, 'get'> | undefined;
  now: Clock;
}>;

/** Rejects with mistakes of ours only. */
export function createSignIn(parts: SignInParts) {
  const { accounts, storedUsers, passwords, trustedBrowsers, countAttempt, beside, factors, now } = parts;

  async function renewHash(user: User, password: string, share: Share): Promise<void> {
    const { id, passwordHash, canSetPassword } = user;
    if (!canSetPassword || passwordHash === undefined || !isWeakerThanPolicy(passwordHash)) return;
    try {
      const renewed = await passwords.run(() => hashPassword(password), share);
      await storedUsers.renewHash(id, passwordHash, renewed);
    } catch (error) {
      // The user is signed in all the same, and the next sign-in tries again.
      if (!(error instanceof PasswordQueueFull || error instanceof StoreUnavailable)) throw error;
    }
  }

  async function finish(
    right: RightPassword,
    attempt: BegunSignIn,
    pending: SignInAttempt,
    device: string,
  ): Promise<SignedIn | PasswordAccepted> {
    const own = await factors?.get(right.user.id);
    if (own !== undefined && hasSecondFactor(own)) {
      attempt.keepPending();
      return { ...right, pending };
    }
    await beside(() => attempt.succeed());
    return { ...right, device: trustedBrowsers.renew(device, right.user.id) };
  }

  async function decide(
    { username, password, address, device }: Credentials,
    at: number,
    found: Found,
  ): Promise<SignedIn | PasswordAccepted | Refused> {
    const { user } = found;
    const account = user?.id ?? canonicalUsername(username);
    const trusted = trustedBrowsers.find(device, account);
    const { attemptsSince: since } = found;
    const counted = { account, since, exists: user !== undefined, address, device: trusted };
    const attempt = await countAttempt(counted);
    const isTrusted = trusted !== undefined && attempt.failures === 0;
    const share = isTrusted ? 'trusted browser' : 'unknown browser';
    let matches: boolean;
    try {
      matches = await compare(passwords, accounts.comparisons(found), { password, share });
    } catch (error) {
      attempt.takeBack();
      throw error;
    }
    // Asked in every case: a refusal takes the same steps whatever the reason.
    const mayGoOn = await accounts.maySignIn(found);
    const { failures } = attempt;
    if (user === undefined) return { user: undefined, reason: 'unknown', meant: undefined, failures };
    if (!matches || mayGoOn !== true) {
      const refusal = mayGoOn === 'factors_off' ? mayGoOn : 'disabled';
      return { user: undefined, reason: matches ? refusal : 'wrong_password', meant: user, failures };
    }
    await renewHash(user, password, share);
    const right = { user, at, generation: found.generation };
    return finish(right, attempt, counted, device);
  }

  return async function signIn(
    credentials: Credentials,
  ): Promise<SignedIn | PasswordAccepted | Refused | NotDecided> {
    const at = Math.floor(now() / 1000);
    let found: Found | undefined;
    try {
      found = await accounts.findByUsername(credentials.username);
      return await decide(credentials, at, found);
    } catch (cause) {
      return { user: undefined, meant: found?.user, ...undecided(cause) };
    }
  };
}

/** Whether one of the user's own hashes matches. */
async function compare(
  passwords: Passwords,
  comparisons: readonly Comparison[],
  { password, share }: { readonly password: string; readonly share: Share },
): Promise<boolean> {
  const isTooLong = password.length > MAX_PASSWORD_LENGTH;
  let matches = false;
  // How often depends on what was typed and never on whose password it is.
  for (const form of isTooLong ? [''] : passwordForms(password)) {
    for (const { hash, isOwn } of comparisons) {
      const isRight = await passwords.verify(hash, form, share);
      matches ||= isRight && isOwn && !isTooLong;
    }
  }
  return matches;
}

/** Throws what is none of these. */
function undecided(cause: unknown): Pick<NotDecided, 'reason' | 'cause'> {
  if (cause instanceof TooManyRequests) return { reason: 'too_many_attempts', cause };
  if (cause instanceof PasswordQueueFull) return { reason: 'busy', cause };
  if (cause instanceof StoreUnavailable) return { reason: 'unavailable', cause };
  throw cause;
}
