// What a change of the file means for users: whose password or state is another, while the service ran or not (account-state.ts stores
// what is compared), who is gone, whom an app lets in no more, and whose login name
// both the file and the store have.
import { isDeepStrictEqual } from 'node:util';
import { createAccessRules, type Grouped } from '../config/access-rules.ts';
import type { Config, UserEntry } from '../config/config.ts';
import type { KeyedHash } from '../store/keyed-hash.ts';
import { changeDocument } from '../store/documents.ts';
import { FormFault } from '../store/form.ts';
import type { Clock, DocumentStore } from '../store/store.ts';
import { type AccountState, type AccountStates, laterThan } from './account-state.ts';
import type { StoredUsers } from './stored-users.ts';
import { newUserEvent, type UserEvent } from './user-events.ts';

/** Users looked up, or written, at one time; a first start writes for everybody. */
const AT_ONCE = 50;
const FILE_PEOPLE = { collection: 'file-people', id: 'all', what: 'the people of the file' };

/** Does `work`, of which the apps hear by `event`. */
export type Announce = (event: UserEvent, work: () => Promise<unknown>) => Promise<unknown>;

type ComparedUsers = Readonly<Record<'before' | 'users', readonly UserEntry[]>>;
type CompareParts = Readonly<{ states: AccountStates; hash: KeyedHash; now: Clock; announce: Announce }>;

/**
 * Ends the sessions and tokens of users whose password or state changed, or whose entry is back. `before`: of the file that this process
 * served until now, which had nobody at a start. An entry that was there all the time isn't back, whatever file another node has.
 * Asks the store for the users of the file alone: it may know of many more. Throws StoreUnavailable. Safe to repeat, and on
 * many nodes at once.
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

type OnFault = (fault: FormFault) => void;

/**
 * One after the other in batches: a start with thousands of users must not flood the store. A document that can't be read stops nothing:
 * what needs it is refused anyway.
 */
export async function inBatches<T>(
  all: readonly T[],
  act: (one: T) => Promise<unknown>,
  onFault: OnFault = () => {},
): Promise<void> {
  const actOrReport = async (one: T) =>
    act(one).catch((error: unknown) => {
      if (!(error instanceof FormFault)) throw error;
      onFault(error);
    });
  for (let start = 0; start < all.length; start += AT_ONCE) {
    await Promise.all(all.slice(start, start + AT_ONCE).map(actOrReport));
  }
}

/** Who was of a file once, isn't of this one, and isn't noted. One document has all of them: the store may know of many more. */
export async function findRemoved(
  users: readonly UserEntry[],
  documents: DocumentStore,
  states: Pick<AccountStates, 'get'>,
  onFault: OnFault,
): Promise<readonly string[]> {
  const ids = users.map(({ id }) => id);
  let known: readonly string[] = [];
  await changeDocument(documents, FILE_PEOPLE, (form) => {
    known = (form['ids'] ?? []) as readonly string[];
    const all = new Set([...known, ...ids]);
    return all.size > known.length ? { ids: [...all] } : undefined;
  });
  const here = new Set(ids);
  const gone: string[] = [];
  const look = async (id: string) => (await states.get(id)).removed || gone.push(id);
  await inBatches(
    known.filter((id) => !here.has(id)),
    look,
    onFault,
  );
  return gone;
}

/** The user, and the apps. */
type ShutOut = readonly [id: string, clientIds: readonly string[]];

type Member = Grouped & { readonly id: string };

/** Whom the change keeps from an app of `clientIds`, which hear of the end of sessions. Throws StoreUnavailable. */
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
 * The users of the store who can't sign in, because a user of the file has the same login name or id: the ids of both, theirs first.
 * The file wins: its keeper decides who may have a name. Asks the store for the users of the file alone: it may have many
 * more itself. Throws StoreUnavailable.
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
