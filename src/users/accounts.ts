// The users who exist, their claims, and whether they may still be signed in: looked up in the file first, then in the store.
// passwords.ts has the password, sign-in.ts the act of signing in.
import type { Config, UserEntry } from '../config/config.ts';
import { canonicalUsername } from '../config/text.ts';
import type { KeyedHash } from '../store/keyed-hash.ts';
import type { Store } from '../store/store.ts';
import { type AccountState, createAccountStates } from './account-state.ts';
import { createFactorStore } from './factors.ts';
import { createImportedCosts } from './imported-costs.ts';
import { costOf, decoyOf } from './passwords.ts';
import { createStoredUsers } from './stored-users.ts';
import { type User, userOfFile } from './user.ts';

/** The sign-in that a session or grant comes from. */
export type Issued = Readonly<{
  /** The user's generation then. */
  generation: string | undefined;
  /** Epoch seconds. */
  at: number;
  /** Of a session that proved no second factor. */
  isByPassword?: boolean | undefined;
}>;

/** What voids it. */
type OfSignIn = Omit<Issued, 'at'>;

/** Who was meant by a name, and what attempts with it are counted by. */
export type Found = Readonly<{
  user: User | undefined;
  /** Another one whenever everything of the user ends. */
  generation: string;
  /** Changes with the password and when an operator acts, so that failures from before don't count any more. */
  attemptsSince: string;
  /** Of imported hashes. */
  costs: readonly string[];
}>;

/** One of the hashes that an attempt is compared with. Undefined: of no user, at the cost of the policy. */
export type Comparison = { readonly hash: string | undefined; readonly isOwn: boolean };

type OpenedStore = Pick<Store, 'documents' | 'index' | 'clock'>;

export type OpenUsers = ReturnType<typeof openUsers>;

/** What the store has of users, opened once for a process. */
export const openUsers = ({ documents, index, clock }: OpenedStore, hash: KeyedHash) => ({
  states: createAccountStates(documents),
  storedUsers: createStoredUsers({ documents, index }),
  factors: createFactorStore(documents, hash),
  importedCosts: createImportedCosts(documents, clock.now),
});

export type Accounts = ReturnType<typeof createAccounts>;

type Stored = Pick<OpenUsers, 'states' | 'storedUsers'>;

type AccountsParts = Stored & {
  readonly importedCosts: Pick<OpenUsers['importedCosts'], 'get'>;
  /** Without `sign_in`, a password, or a session by one, isn't enough for users who have a second factor. */
  readonly config: Pick<Config, 'users' | 'signIn'>;
  /** The same, each read once a request, if there are requests. Signing in reads again: the password takes time to compare. */
  readonly remembered?: Stored;
};

const NOBODY = 'nobody';
/** Costs of hashes that there may be at once. Each costs every attempt one comparison. */
export const MAX_COSTS = 3;

/** The `validAfter` of the user and of their state. */
type Ends = readonly [number, number];
/** Another one whenever everything of the user ends. */
export const toGeneration = (ends: Ends) => ends.join('.');

export function createAccounts(parts: AccountsParts) {
  const { config, states, storedUsers, importedCosts, remembered = parts } = parts;
  const factorsAreOff = config.signIn === undefined;
  const declared = config.users.map(userOfFile);
  const byId = new Map(declared.map((user) => [user.id, user]));
  const byUsername = new Map(declared.map((user) => [canonicalUsername(user.username), user]));

  /** The file wins: a user of the store who has an id or a login name of the file isn't here while it does. */
  const isShadowed = ({ id, username, source }: User) =>
    source === 'store' && (byId.has(id) || byUsername.has(canonicalUsername(username)));
  function choose(ofFile: User | undefined, ofStore: User | undefined): User | undefined {
    if (ofFile !== undefined || ofStore === undefined) return ofFile;
    return isShadowed(ofStore) ? undefined : ofStore;
  }

  const isOut = ({ disabled, hasFactors }: AccountState, issued: OfSignIn | undefined) =>
    disabled || (factorsAreOff && hasFactors === true && issued?.isByPassword === true);

  function liveIn(stored: Stored) {
    return async function findLive(id: string, issued?: OfSignIn): Promise<User | undefined> {
      const ofFile = byId.get(id);
      const [ofStore, state] = await Promise.all([
        ofFile === undefined ? stored.storedUsers.findById(id) : undefined,
        stored.states.get(id),
      ]);
      const user = choose(ofFile, ofStore);
      if (user === undefined || user.disabled || isOut(state, issued)) return undefined;
      const generation = toGeneration([user.validAfter, state.validAfter]);
      return issued === undefined || issued.generation === generation ? user : undefined;
    };
  }

  return {
    isShadowed,
    comparisons: createComparisons(config.users),
    /**
     * Undefined when the user doesn't exist, is disabled, or when everything of the user has ended since `issued`.
     * Throws StoreUnavailable: without an answer no user is called unknown.
     */
    findLive: liveIn(remembered),
    /** The same, with what this request itself has changed. */
    findLiveNow: liveIn(parts),
    /** The same store calls for every name. Throws StoreUnavailable. */
    async findByUsername(typed: string): Promise<Found> {
      const ofFile = byUsername.get(canonicalUsername(typed));
      // The store is asked for users of the file, too: time doesn't reveal which source a user comes from.
      const [storedId = NOBODY, costs] = await Promise.all([
        remembered.storedUsers.idOf(typed),
        importedCosts.get(),
      ]);
      const [ofStore, state] = await Promise.all([
        storedUsers.findById(storedId),
        states.get(ofFile?.id ?? storedId),
      ]);
      const user = choose(ofFile, ofStore);
      const generation = toGeneration([user?.validAfter ?? 0, state.validAfter]);
      return { user, generation, attemptsSince: `${generation}.${state.attemptsSince ?? 0}`, costs };
    },
    /** By id, before someone who signed up with a username like it, or by username, also who can't sign in: for an administrator. Throws StoreUnavailable. */
    async lookUp(typed: string): Promise<User | undefined> {
      const ofFile = byId.get(typed) ?? byUsername.get(canonicalUsername(typed));
      return ofFile ?? (await storedUsers.findById(typed)) ?? storedUsers.findByUsername(typed);
    },
    /** Whether the user, whose password was right, may sign in now. False for an unknown name as well, at the same cost. */
    async maySignIn({ user }: Found): Promise<boolean | 'factors_off'> {
      const id = user?.id ?? NOBODY;
      // The user is read again: the password may have been changed, or the user deleted, while it was compared.
      const [stored, { disabled, hasFactors }] = await Promise.all([
        storedUsers.findById(id),
        states.get(id),
      ]);
      const now = byId.get(id) ?? stored;
      if (user === undefined || user.disabled || disabled) return false;
      if (now?.passwordHash !== user.passwordHash) return false;
      return factorsAreOff && hasFactors === true ? 'factors_off' : true;
    },
  };
}

/**
 * What an attempt verifies: hashes of the same costs for every name, so that time reveals neither who exists nor in which source. Only
 * the user's own can match; an unknown name has none, nor has who was invited and has no password yet.
 */
function createComparisons(users: readonly UserEntry[]) {
  const costsOfFile = new Set(users.map(({ passwordHash }) => costOf(passwordHash)));
  costsOfFile.delete(costOf());
  const decoys = [...[...costsOfFile].slice(0, MAX_COSTS - 1).map(decoyOf), undefined];

  const placeOf = (cost: string) => decoys.findIndex((decoy) => costOf(decoy) === cost);

  return ({ user, costs }: Found): readonly Comparison[] => {
    const hash = user?.passwordHash;
    // A user of the store may have the cost of an earlier policy, too.
    for (const cost of [...costs, costOf(hash)])
      if (placeOf(cost) < 0 && decoys.length < MAX_COSTS) decoys.unshift(decoyOf(cost));
    const others = decoys.map((decoy) => ({ hash: decoy, isOwn: false }));
    return hash === undefined
      ? others
      : others.with(Math.max(0, placeOf(costOf(hash))), { hash, isOwn: true });
  };
}
