// The users who exist, their claims, and whether they may still be signed in: looked up in the file first, then in the store.
// passwords.ts has the password, sign-in.ts the act of signing in.
import type { UserEntry } from '../config/config.ts';
import { canonicalUsername } from '../config/username.ts';
import type { StoreClock } from '../store/store.ts';
import type { AccountState, AccountStates } from './account-state.ts';
import { costOf } from './passwords.ts';
import type { StoredUsers } from './stored-users.ts';

export type Account = {
  readonly id: string;
  readonly username: string;
  /** Who has none signs in by a passkey. */
  readonly hasPassword: boolean;
  /** As User has them. */
  readonly groups: readonly string[];
  /** OIDC Core §5.1 names and custom ones, without `sub`. */
  readonly claims: Readonly<Record<string, unknown>>;
};

export type UserSource = 'file' | 'store';

/** When the sign-in was that something came of. */
export type Issued = {
  /** The user's generation then. Records of an earlier version have none, and go by the second. */
  readonly generation: string | undefined;
  /** Epoch seconds. */
  readonly at: number;
  /** Of a session that proved no second factor. */
  readonly isByPassword?: boolean | undefined;
};

/** Who was meant by a name, and what attempts with it are counted by. */
export type Found = {
  readonly user: UserEntry | undefined;
  readonly source: UserSource | undefined;
  /** Another one whenever everything of the user ends. */
  readonly generation: string;
  /** Changes with the password and when an operator acts, so that failures from before don't count any more. */
  readonly attemptsSince: string;
};

/** One of the hashes that an attempt is compared with. Undefined: of no user, at the cost of the policy. */
export type Comparison = { readonly hash: string | undefined; readonly isOwn: boolean };

export type Accounts = ReturnType<typeof createAccounts>;

type AccountsParts = {
  /** `validAfter` is a time of the store. */
  readonly clock: Pick<StoreClock, 'ahead'>;
  readonly users: readonly UserEntry[];
  readonly states: AccountStates;
  readonly storedUsers: StoredUsers;
  /** The file says nothing of second factors: a password, or a session by one, isn't enough for users who have one. */
  readonly factorsAreOff: boolean;
  /** The same, each read once a request. Signing in reads again: the password takes time to compare. */
  readonly remembered: {
    readonly states: Pick<AccountStates, 'get'>;
    readonly storedUsers: Pick<StoredUsers, 'findById' | 'idOf'>;
  };
};

const NOBODY = 'nobody';
/** Each costs every attempt one comparison. */
const MAX_DECOYS = 3;

/** The `validAfter` of the user, 0 for one of the file, and of their state. */
type Ends = readonly [number, number];
/** Another one whenever everything of the user ends. */
export const toGeneration = (ends: Ends) => ends.join('.');

export function createAccounts(parts: AccountsParts) {
  const { users, states, storedUsers, remembered, clock, factorsAreOff } = parts;
  const byId = new Map(users.map((user) => [user.id, user]));
  const byUsername = new Map(users.map((user) => [canonicalUsername(user.username), user]));
  const comparisons = createComparisons(users);

  function isVoid(issued: Issued | undefined, ends: Ends): boolean {
    if (issued === undefined) return false;
    if (issued.generation !== undefined) return issued.generation !== toGeneration(ends);
    return issued.at + clock.ahead < Math.max(...ends);
  }

  const isOut = ({ disabled, hasFactors }: AccountState, issued: Issued | undefined) =>
    disabled || (factorsAreOff && hasFactors === true && issued?.isByPassword === true);

  async function findStored(id: string, issued: Issued | undefined): Promise<Account | undefined> {
    const [user, state] = await Promise.all([remembered.storedUsers.findById(id), remembered.states.get(id)]);
    // The file wins: who of the store has a login name of it is not here while it does.
    const isHidden = user === undefined || byUsername.has(canonicalUsername(user.username));
    if (isHidden || isOut(state, issued)) return undefined;
    if (isVoid(issued, [user.validAfter, state.validAfter])) return undefined;
    return toAccount(user);
  }

  return {
    comparisons,
    /**
     * Undefined when the user doesn't exist, is disabled, or when everything of the user has ended since `issued`.
     * Throws StoreUnavailable: without an answer no user is called unknown.
     */
    async findLive(id: string, issued?: Issued): Promise<Account | undefined> {
      const user = byId.get(id);
      if (user === undefined) return findStored(id, issued);
      if (user.disabled) return undefined;
      const state = await remembered.states.get(id);
      if (isOut(state, issued) || isVoid(issued, [0, state.validAfter])) return undefined;
      return toAccount(user);
    },
    /** The same store calls for every name. Throws StoreUnavailable. */
    async findByUsername(typed: string): Promise<Found> {
      const fromFile = byUsername.get(canonicalUsername(typed));
      // The store is asked for users of the file, too: time doesn't reveal which source a user comes from.
      const storedId = (await remembered.storedUsers.idOf(typed)) ?? NOBODY;
      const [fromStore, state] = await Promise.all([
        storedUsers.findById(storedId),
        states.get(fromFile?.id ?? storedId),
      ]);
      const user = fromFile ?? fromStore;
      const passwordSince = fromFile === undefined ? (fromStore?.validAfter ?? 0) : 0;
      const generation = toGeneration([passwordSince, state.validAfter]);
      return {
        user,
        source: fromFile !== undefined ? 'file' : fromStore && 'store',
        generation,
        attemptsSince: `${generation}.${state.attemptsSince ?? 0}`,
      };
    },
    /** Whether the user, whose password was right, may sign in now. False for an unknown name as well, at the same cost. */
    async maySignIn({ user, source }: Found): Promise<boolean | 'factors_off'> {
      const id = user?.id ?? NOBODY;
      // The user is read again: the password may have been changed, or the user deleted, while it was compared.
      const [stored, { disabled, hasFactors }] = await Promise.all([
        storedUsers.findById(id),
        states.get(id),
      ]);
      if (user === undefined || user.disabled || disabled) return false;
      if (source !== 'file' && stored?.passwordHash !== user.passwordHash) return false;
      return factorsAreOff && hasFactors === true ? 'factors_off' : true;
    },
  };
}

function toAccount({ id, username, passwordHash, groups, claims }: UserEntry): Account {
  return { id, username, hasPassword: passwordHash !== undefined, groups, claims };
}

/**
 * What an attempt verifies: hashes of the same costs for every name, so that time reveals neither who exists nor in which source. Only
 * the user's own can match; an unknown name has none, nor has who was invited and has no password yet.
 */
function createComparisons(users: readonly UserEntry[]) {
  const hashes = users.flatMap(({ passwordHash }) => passwordHash ?? []);
  const ofOtherCosts = new Map(hashes.map((hash) => [costOf(hash), hash]));
  ofOtherCosts.delete(costOf());
  const decoys = [...[...ofOtherCosts.values()].slice(0, MAX_DECOYS - 1), undefined];

  return ({ user }: Found): readonly Comparison[] => {
    const hash = user?.passwordHash;
    const others = () => decoys.map((decoy) => ({ hash: decoy, isOwn: false }));
    if (hash === undefined) return others();
    const place = decoys.findIndex((decoy) => costOf(decoy) === costOf(hash));
    // A user of the store may have the cost of an earlier policy.
    if (place < 0 && decoys.length < MAX_DECOYS) decoys.unshift(hash);
    return others().with(Math.max(0, place), { hash, isOwn: true });
  };
}
