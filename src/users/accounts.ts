// Looks up users, in the file first, then in the store: who exists, their claims, and whether their sign-ins are still valid.
import type { Config, UserEntry } from '../config/config.ts';
import { canonicalUsername } from '../config/text.ts';
import type { KeyedHash } from '../store/keyed-hash.ts';
import type { Store } from '../store/store.ts';
import { type AccountState, createAccountStates } from './account-state.ts';
import { createFactorStore } from './factors.ts';
import { createImportedCosts } from './imported-costs.ts';
import { costOf, decoyOf } from './passwords.ts';
import { createStoredUsers, UNUSED_ID } from './stored-users.ts';
import { type User, userOfFile } from './user.ts';

/** The sign-in that a session or grant comes from. */
export type Issued = Readonly<{
  /** The user's generation at the sign-in (toGeneration). */
  generation: string | undefined;
  /** Epoch seconds. */
  at: number;
  /** Whether the session proved no second factor. */
  isByPassword?: boolean | undefined;
}>;

/** The members that decide whether the sign-in is still valid. */
type OfSignIn = Omit<Issued, 'at'>;

/** The user that a name refers to, and the values by which attempts with the name are counted. */
export type Found = Readonly<{
  user: User | undefined;
  /** Changes whenever all sessions and tokens of the user end. */
  generation: string;
  /** Changes with the password, and when the user is enabled or accepts a one-time link: earlier failures then don't count. */
  attemptsSince: string;
  /** Costs of imported password hashes. */
  costs: readonly string[];
}>;

/** A hash that an attempt is compared with. `hash` undefined: a dummy hash at the cost of the policy. */
export type Comparison = Readonly<{ hash: string | undefined; isOwn: boolean }>;

type OpenedStore = Pick<Store, 'documents' | 'index' | 'clock'>;

export type OpenUsers = ReturnType<typeof openUsers>;

/** Opens the data of users in the store, once for each process. */
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
  /** Without `sign_in`, a password, or a session by password, isn't enough for users with a second factor. */
  readonly config: Pick<Config, 'users' | 'signIn'>;
  /** The same data, read once for each request, if any. Signing in reads it again, because comparing the password takes time. */
  readonly remembered?: Stored;
};

/** Maximum number of different costs of hashes. Each adds a comparison to every attempt. */
export const MAX_COSTS = 3;

/** The `validAfter` of the user and of their state. */
type Ends = readonly [number, number];
/** Changes whenever all sessions and tokens of the user end. */
export const toGeneration = (ends: Ends) => ends.join('.');

export function createAccounts(parts: AccountsParts) {
  const { config, states, storedUsers, importedCosts, remembered = parts } = parts;
  const factorsAreOff = config.signIn === undefined;
  const declared = config.users.map(userOfFile);
  const byId = new Map(declared.map((user) => [user.id, user]));
  const byUsername = new Map(declared.map((user) => [canonicalUsername(user.username), user]));

  /** The file wins: a user in the store is hidden while the file has the same id or username. */
  const isShadowed = ({ id, username, source }: User) =>
    source === 'store' && (byId.has(id) || byUsername.has(canonicalUsername(username)));
  const choose = (ofFile: User | undefined, ofStore: User | undefined) =>
    ofFile ?? (ofStore && !isShadowed(ofStore) ? ofStore : undefined);

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
     * Resolves undefined if the user doesn't exist, is disabled, or if all sessions of the user have ended since `issued`.
     * Throws StoreUnavailable: an outage must not mean that a user is unknown.
     */
    findLive: liveIn(remembered),
    /** As findLive, including the changes by this request. */
    findLiveNow: liveIn(parts),
    /** Makes the same store calls for every name. Throws StoreUnavailable. */
    async findByUsername(typed: string): Promise<Found> {
      const ofFile = byUsername.get(canonicalUsername(typed));
      // Users in the file are looked up in the store, too, so that the time doesn't reveal the source of a user.
      const [storedId = UNUSED_ID, costs] = await Promise.all([
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
    /** For administrators: finds any user by id, otherwise by username (which may look like an id). Throws StoreUnavailable. */
    async lookUp(typed: string): Promise<User | undefined> {
      const ofFile = byId.get(typed) ?? byUsername.get(canonicalUsername(typed));
      return ofFile ?? (await storedUsers.findById(typed)) ?? storedUsers.findByUsername(typed);
    },
    /** Why a user with the right password may not sign in now, if so. At the same cost, `disabled` also means an unknown name, another password or a deleted user. */
    async refusalOf({ user }: Found): Promise<'disabled' | 'factors_off' | undefined> {
      const id = user?.id ?? UNUSED_ID;
      // The user is read again: the password may have been changed, or the user deleted, while it was compared.
      const [stored, { disabled, hasFactors }] = await Promise.all([
        storedUsers.findById(id),
        states.get(id),
      ]);
      const now = byId.get(id) ?? stored;
      if (user === undefined || user.disabled || disabled) return 'disabled';
      if (now?.passwordHash !== user.passwordHash) return 'disabled';
      return factorsAreOff && hasFactors === true ? 'factors_off' : undefined;
    },
  };
}

/**
 * Returns the hashes that an attempt verifies. They have the same costs for every name, so that time reveals neither who exists nor
 * in which source. Only the user's own hash can match; unknown names, and invited users without a password, have none.
 */
function createComparisons(users: readonly UserEntry[]) {
  const costsOfFile = new Set(users.map(({ passwordHash }) => costOf(passwordHash)));
  costsOfFile.delete(costOf());
  const decoys = [...[...costsOfFile].slice(0, MAX_COSTS - 1).map(decoyOf), undefined];

  const placeOf = (cost: string) => decoys.findIndex((decoy) => costOf(decoy) === cost);

  return ({ user, costs }: Found): readonly Comparison[] => {
    const hash = user?.passwordHash;
    // The hash of a user in the store may have the cost of an earlier policy.
    for (const cost of [...costs, costOf(hash)])
      if (placeOf(cost) < 0 && decoys.length < MAX_COSTS) decoys.unshift(decoyOf(cost));
    const others = decoys.map((decoy) => ({ hash: decoy, isOwn: false }));
    return hash === undefined
      ? others
      : others.with(Math.max(0, placeOf(costOf(hash))), { hash, isOwn: true });
  };
}
