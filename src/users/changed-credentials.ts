// Applies changes of the file to users: whose password or state changed, while the service ran or not (account-state.ts stores the
// compared value), who was removed, who may no longer use an app, and whose username is both in the file and
// in the store.
import { isDeepStrictEqual } from 'node:util';
import { createAccessRules, type Grouped } from '../config/access-rules.ts';
import type { Config, UserEntry } from '../config/config.ts';
import type { KeyedHash } from '../store/keyed-hash.ts';
import { changeDocument } from '../store/documents.ts';
import { inBatches, type OnFault } from '../store/in-batches.ts';
import type { Clock, DocumentStore } from '../store/store.ts';
import { type AccountState, type AccountStates, laterThan } from './account-state.ts';
import type { StoredUsers } from './stored-users.ts';
import { newUserEvent, type UserEvent } from './user-events.ts';

const FILE_USERS = { collection: 'file-people', id: 'all', what: 'the users in the file' };

/** Runs `work`, and notifies apps of it by `event`. */
export type Announce = (event: UserEvent, work: () => Promise<unknown>) => Promise<unknown>;

type ComparedUsers = Readonly<Record<'before' | 'users', readonly UserEntry[]>>;
type CompareParts = Readonly<{ states: AccountStates; hash: KeyedHash; now: Clock; announce: Announce }>;

/**
 * Ends the sessions and tokens of users whose password or state changed, or whose entry is back. `before`: the users in the file that this
 * process served until now, none at startup. An entry that was there all the time isn't back, whatever file another node has. Reads only
 * these users from the store. Throws StoreUnavailable. Safe to repeat, and to run on many nodes at once.
 */
export async function voidChangedCredentials(
  { before, users }: ComparedUsers,
  { states, hash, now, announce }: CompareParts,
  onFault?: OnFault,
): Promise<void> {
  const wasThere = new Set(before.map(({ id }) => id));

  async function compare({ id, passwordHash, disabled }: UserEntry): Promise<void> {
    const credential = hash(`credential:${passwordHash}:${disabled}`);
    const change = ({ credential: known, validAfter, removed }: AccountState) => {
      const isBack = removed === true && !wasThere.has(id);
      if (known === credential && !isBack) return undefined;
      if (known === undefined) return { credential };
      return { credential, validAfter: laterThan(validAfter, now), removed: undefined };
    };
    const changed = change(await states.get(id));
    if (changed === undefined) return;
    const update = () => states.update(id, change);
    await ('validAfter' in changed ? announce(newUserEvent(id, 'ended'), update) : update());
  }

  await inBatches(users, compare, onFault);
}

/** Notes the users in the file. Finds earlier ones who are neither in it nor marked as removed. One document has all of their ids. */
export async function noteAndFindRemoved(
  users: readonly UserEntry[],
  documents: DocumentStore,
  states: Pick<AccountStates, 'get'>,
  onFault: OnFault,
): Promise<readonly string[]> {
  const ids = users.map(({ id }) => id);
  let known: readonly string[] = [];
  await changeDocument(documents, FILE_USERS, (form) => {
    known = (form['ids'] ?? []) as readonly string[];
    const all = new Set([...known, ...ids]);
    return all.size > known.length ? { ids: [...all] } : undefined;
  });
  const here = new Set(ids);
  const others = known.filter((id) => !here.has(id));
  const gone: string[] = [];
  const check = async (id: string) => {
    if (!(await states.get(id)).removed) gone.push(id);
  };
  await inBatches(others, check, onFault);
  return gone;
}

/** The user, and the apps that the user may no longer use. */
type ShutOut = readonly [id: string, clientIds: readonly string[]];

type Member = Grouped & { readonly id: string };

/** Finds users who may no longer use an app of `clientIds`, which are notified when sessions end. Throws StoreUnavailable. */
export async function findShutOut(
  before: Config,
  after: Config,
  clientIds: ReadonlySet<string>,
  storedUsers: Pick<StoredUsers, 'list'>,
): Promise<readonly ShutOut[]> {
  const clients = after.clients.filter(({ clientId }) => clientIds.has(clientId));
  const accessBefore = new Map(before.clients.map(({ clientId, access }) => [clientId, access]));
  const hasOtherRule = clients.some(
    ({ clientId, access }) => !isDeepStrictEqual(access, accessBefore.get(clientId)),
  );
  const now: readonly Member[] = [...after.users, ...(hasOtherRule ? await storedUsers.list() : [])];
  const inFile = new Map<string, Member>(before.users.map((user) => [user.id, user]));
  const [was, is] = [createAccessRules(before), createAccessRules(after)];
  return now.flatMap((user) => {
    const left = clients
      .filter((client) => was.mayUseClient(inFile.get(user.id) ?? user, client))
      .filter((client) => !is.mayUseClient(user, client));
    return left.length === 0 ? [] : [[user.id, left.map(({ clientId }) => clientId)] as const];
  });
}

/**
 * Finds the users in the store who can't sign in, because a user in the file has the same username or id. Resolves both ids, theirs first.
 * The file wins, because its administrator decides who may have a name. Throws StoreUnavailable.
 */
export async function findShadowed(
  users: readonly UserEntry[],
  storedUsers: Pick<StoredUsers, 'findById' | 'findByUsername'>,
): Promise<ReadonlyMap<string, string>> {
  const shadowed = new Map<string, string>();
  await inBatches(users, async ({ id, username }) => {
    const found = await Promise.all([storedUsers.findById(id), storedUsers.findByUsername(username)]);
    for (const user of found) if (user !== undefined) shadowed.set(user.id, id);
  });
  return shadowed;
}
