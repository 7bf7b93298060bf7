// People: who exists, who may still be signed in, what is known of them. Owns the look-up; passwords.ts has the
// password and sign-in.ts the act of signing in.
import type { User } from '../config/config.ts';
import type { AccountStates } from './account-state.ts';
import { canonicalUsername } from '../config/username.ts';

export type Account = {
  readonly id: string;
  readonly username: string;
  /** OIDC Core §5.1 names, without `sub`. */
  readonly claims: Readonly<Record<string, unknown>>;
};

export interface Accounts {
  /** Undefined when the person doesn't exist, is disabled, or when `issuedAt` (epoch seconds) is before their `validAfter`. */
  findLive(id: string, issuedAt: number): Promise<Account | undefined>;
  findByUsername(typed: string): User | undefined;
  /** Verified in place of nobody's: as dear as most people's here, so that time doesn't tell who exists (LG-19). */
  readonly decoyHash: string | undefined;
  /** True for nobody as well, at the same cost. */
  isDisabled(user: User | undefined): Promise<boolean>;
}

export function createAccounts(users: readonly User[], states: AccountStates): Accounts {
  const byId = new Map(users.map((user) => [user.id, user]));
  const byUsername = new Map(users.map((user) => [canonicalUsername(user.username), user]));

  return {
    decoyHash: commonestHash(users),
    async findLive(id, issuedAt) {
      const user = byId.get(id);
      if (user === undefined || user.disabled) return undefined;
      const { disabled, validAfter } = await states.get(id);
      if (disabled || issuedAt < validAfter) return undefined;
      return { id, username: user.username, claims: user.claims };
    },
    findByUsername: (typed) => byUsername.get(canonicalUsername(typed)),
    async isDisabled(user) {
      const { disabled } = await states.get(user?.id ?? 'nobody');
      return user === undefined || user.disabled || disabled;
    },
  };
}

/** One of those whose parameters (`$argon2id$v=…$m=…,t=…,p=…`) most people have. */
function commonestHash(users: readonly User[]): string | undefined {
  const byParameters = Map.groupBy(users, ({ passwordHash }) =>
    passwordHash.split('$').slice(0, 4).join('$'),
  );
  const [commonest] = [...byParameters.values()].toSorted((a, b) => b.length - a.length);
  return commonest?.[0]?.passwordHash;
}
