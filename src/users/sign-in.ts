// Signs users in with a username and a password. All failures look the same from outside and cost the same. Attempts are counted
// before the password is compared.
import { canonicalUsername } from '../config/text.ts';
import { type Limits, TooManyRequests } from '../limits/limits.ts';
import type { SignInAttempt } from '../limits/sign-in-attempts.ts';
import { type Clock, StoreUnavailable } from '../store/store.ts';
import type { Accounts, Comparison, Found } from './accounts.ts';
import { type FactorStore, hasSecondFactor } from './factors.ts';
import { PasswordQueueFull } from './hashing-threads.ts';
import type { TrustedBrowsers } from './trusted-browsers.ts';
import { MAX_PASSWORD_LENGTH, passwordForms } from './password-rules.ts';
import { hashPassword, isWeakerThanPolicy, type Passwords, type Share } from './passwords.ts';
import type { StoredUsers } from './stored-users.ts';
import type { User } from './user.ts';

export type Credentials = Readonly<{
  username: string;
  password: string;
  address: string;
  /** The value that the browser keeps (trusted-browsers.ts), or empty. */
  device: string;
}>;

/** Throws TooManyRequests and StoreUnavailable. */
export type CountAttempt = Limits['takeSignInAttempt'];

type RightPassword = Readonly<{
  user: User;
  /** Epoch seconds, from before the password was compared: what ends earlier sign-ins ends this one, too, however late it finishes. */
  at: number;
  /** As of `at`, for the same reason. */
  generation: string;
}>;

export type SignedIn = RightPassword & {
  /** The value that the browser keeps from now on. */
  readonly device: string;
};

/** The password was right, and the second factor is pending: there is no session, and earlier failures still count. */
export type PasswordAccepted = RightPassword & { readonly pending: SignInAttempt };

/** The reason is only for the audit trail: the page shows the same text for every reason. */
export type Refused = Readonly<{
  user: undefined;
  reason: 'unknown' | 'wrong_password' | 'disabled' | 'factors_off';
  /** The user that the name refers to, if there is one. */
  meant: User | undefined;
  /** Failures in a row of unknown places, including this one; 0 for a failure that isn't part of that row. */
  failures: number;
}>;

/** The result is unknown: there were too many attempts, or a part of the service is overloaded or unavailable. */
export type NotDecided = Readonly<{
  user: undefined;
  reason: 'too_many_attempts' | 'busy' | 'unavailable';
  /** The same as in Refused. Undefined also if the store didn't answer. */
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
  /** Undefined if the file has no `sign_in`. */
  factors?: Pick<FactorStore, 'get'> | undefined;
  now: Clock;
}>;

/** The sign-in rejects only because of bugs. */
export function createSignIn(parts: SignInParts) {
  const { accounts, storedUsers, passwords, trustedBrowsers, countAttempt, beside, factors, now } = parts;

  async function renewHash(user: User, password: string, share: Share): Promise<void> {
    const { id, passwordHash, canSetPassword } = user;
    if (!canSetPassword || passwordHash === undefined || !isWeakerThanPolicy(passwordHash)) return;
    try {
      const renewed = await passwords.run(() => hashPassword(password), share);
      await storedUsers.renewHash(id, passwordHash, renewed);
    } catch (error) {
      // The user is signed in anyway, and the next sign-in tries again.
      if (!(error instanceof PasswordQueueFull || error instanceof StoreUnavailable)) throw error;
    }
  }

  async function finish(
    right: RightPassword,
    attempt: Awaited<ReturnType<CountAttempt>>,
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
    // Called in every case, so that a rejection takes the same steps for every reason.
    const refusal = await accounts.refusalOf(found);
    const { failures } = attempt;
    if (user === undefined) return { user: undefined, reason: 'unknown', meant: undefined, failures };
    const reason = matches ? refusal : 'wrong_password';
    if (reason !== undefined) return { user: undefined, reason, meant: user, failures };
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
  { password, share }: Readonly<{ password: string; share: Share }>,
): Promise<boolean> {
  const isTooLong = password.length > MAX_PASSWORD_LENGTH;
  let matches = false;
  // The number of comparisons depends on the typed text, never on the user.
  for (const form of isTooLong ? [''] : passwordForms(password)) {
    for (const { hash, isOwn } of comparisons) {
      const isRight = await passwords.verify(hash, form, share);
      matches ||= isRight && isOwn && !isTooLong;
    }
  }
  return matches;
}

/** Rethrows all other errors. */
function undecided(cause: unknown): Pick<NotDecided, 'reason' | 'cause'> {
  if (cause instanceof TooManyRequests) return { reason: 'too_many_attempts', cause };
  if (cause instanceof PasswordQueueFull) return { reason: 'busy', cause };
  if (cause instanceof StoreUnavailable) return { reason: 'unavailable', cause };
  throw cause;
}
