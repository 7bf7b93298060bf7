// Users in the store, in two documents each: one for the user, by id, and one for the username, which leads to the id. Indexes list the
// users (username-index.ts). No write spans two documents. The user is written first and the name last, so the name's compare-and-set
// decides which write wins, and a crash leaves at most a user that no name leads to. Deleting leaves a tombstone under the id.
import { canonicalUsername } from '../config/text.ts';
import { changeDocument, type OnUnreadable, readMembers, readDocuments } from '../store/documents.ts';
import { FORM_VERSION, parseForm, type StoredForm, UnreadableForm } from '../store/form.ts';
import {
  type DocumentStore,
  type IndexEntry,
  type IndexRange,
  type IndexStore,
  ifUnavailable,
  type Store,
} from '../store/store.ts';
import { nextValidAfter } from './account-state.ts';
import { type User, userOfStore } from './user.ts';
import { indexEntriesOf, USERS, USERNAMES, type UserEntries, usernameSort } from './username-index.ts';

const WHAT = 'a user';
/** No id has this form. It is looked up for an unknown name, so that this costs the same as for a known name. */
export const UNUSED_ID = 'nobody';

type Stored = Pick<User, 'username' | 'passwordHash' | 'groups' | 'claims' | 'validAfter'>;
/** `atOnce`: users in one page. */
type NameRange = Readonly<{ after: string; atOnce: number }>;
type IndexedStore = Pick<Store, 'documents' | 'index'>;
type Granted = Pick<User, 'groups' | 'claims'>;
export type NewUser = Pick<User, 'id' | 'username' | 'passwordHash' | 'claims'> & Partial<Granted>;

/** Adds the username as the name that apps show, unless the user has another one for that. */
export const withName = (username: string, claims: User['claims']): User['claims'] => ({
  preferred_username: username,
  ...claims,
});

type Change = (before: User) => Partial<Stored> | undefined;

const readUser = async (documents: DocumentStore, id: string) =>
  toUser(id, await readMembers(documents, nameOf(id)));

/** A name that leads to no user, because a removal was interrupted, is free: that user never comes back. */
async function claimName(documents: DocumentStore, username: string, id: string): Promise<boolean> {
  const name = canonicalUsername(username);
  const claimed = await documents.get(USERNAMES, name);
  if (claimed !== undefined && (await readUser(documents, claimed.value)) !== undefined) return false;
  return documents.put(USERNAMES, name, id, claimed?.version ?? 0);
}

/** Resolves the users of the entries. Entries of deleted users are removed; a user who is just being added isn't found yet. */
async function usersOf(
  { documents, index }: IndexedStore,
  name: string,
  entries: readonly IndexEntry[],
  onFault?: OnUnreadable,
) {
  const ids = entries.map(({ id }) => id);
  const found = readDocuments(await documents.getAll(USERS, ids), parseUser, onFault);
  const gone = entries.filter(({ id }) => found.has(id) && found.get(id) === undefined);
  // A store that accepts no writes doesn't stop a read.
  for (const { sort, id } of gone) await index.remove(name, sort, id).catch(ifUnavailable);
  const users = entries.flatMap(({ sort, id }) => {
    const user = found.get(id);
    return user && indexEntriesOf(id, user).some((one) => one.index === name && one.sort === sort)
      ? [user]
      : [];
  });
  return reachable(documents, users);
}

/** Leaves out users that no name leads to. */
async function reachable(documents: DocumentStore, users: readonly User[]): Promise<readonly User[]> {
  const names = users.map(({ username }) => canonicalUsername(username));
  const claimed = await documents.getAll(USERNAMES, names);
  return users.filter(({ id }, at) => claimed[at]?.value === id);
}

async function* usersByName(store: IndexedStore, { after: name, atOnce }: NameRange, onFault: OnUnreadable) {
  let after: IndexRange['after'] = { sort: usernameSort(name) };
  for (let isLast = false; !isLast;) {
    const entries = await store.index.page(USERNAMES, { after, limit: atOnce });
    yield await usersOf(store, USERNAMES, entries, onFault);
    [after, isLast] = [entries.at(-1), entries.length < atOnce];
  }
}

/** Yields users in no order. A user who exists all the time is in at least one page. */
async function* pagesOf(documents: DocumentStore) {
  let next: string | undefined;
  do {
    const page = await documents.page(USERS, next);
    const found = [...readDocuments(page.documents, parseUser).values()];
    const users = found.filter((user) => user !== undefined);
    yield await reachable(documents, users);
    ({ next } = page);
  } while (next !== undefined);
}

async function listStored(documents: DocumentStore): Promise<readonly User[]> {
  const found = new Map<string, User>();
  for await (const users of pagesOf(documents)) for (const user of users) found.set(user.id, user);
  return [...found.values()];
}

const missingIn = (others: UserEntries, entries: UserEntries) =>
  entries.filter(({ index, sort }) => !others.some((one) => one.index === index && one.sort === sort));

const forAll = (index: IndexStore, act: 'put' | 'remove', entries: UserEntries) =>
  Promise.all(entries.map(({ index: name, sort, id }) => index[act](name, sort, id)));

/** Resolves the changed user, or undefined if the user no longer exists or nothing changes. */
async function changeUser({ documents, index }: IndexedStore, id: string, to: Change) {
  let changed: User | undefined;
  let stale: UserEntries = [];
  await changeDocument(documents, nameOf(id), async (form) => {
    const before = toUser(id, form);
    const next = before && to(before);
    changed = before && next && userOfStore({ ...before, ...next });
    if (before === undefined || changed === undefined) return undefined;
    const [old, own] = [indexEntriesOf(id, before), indexEntriesOf(id, changed)];
    // Added first, so that the user is always in the index.
    await forAll(index, 'put', missingIn(old, own));
    stale = missingIn(own, old);
    return toForm(changed);
  });
  await forAll(index, 'remove', stale).catch(ifUnavailable);
  return changed;
}

export type StoredUsers = ReturnType<typeof createStoredUsers>;

export function createStoredUsers(store: IndexedStore) {
  const { documents, index } = store;

  /** Resolves the id that claims the typed name. The user with this id may be gone. */
  async function idOf(typed: string): Promise<string | undefined> {
    const claimed = await documents.get(USERNAMES, canonicalUsername(typed));
    return claimed?.value;
  }

  const findById = (id: string) => readUser(documents, id);

  const findByPrefix = async (name: string, prefix: string, limit: number) =>
    usersOf(store, name, await index.page(name, { prefix, limit }));

  const change = (id: string, to: Change) => changeUser(store, id, to);

  return {
    list: () => listStored(documents),
    /** Yields all users page by page, for work that needs little of each. */
    pages: () => pagesOf(documents),
    /** Yields users page by page in the order of their names, starting after a typed name. */
    byName: (range: NameRange, onFault: OnUnreadable) => usersByName(store, range, onFault),
    /** Finds users by an index of a feature. `sort` is compared exactly. */
    findBySort: (name: string, sort: string, limit: number) => findByPrefix(name, `${sort}\0`, limit),
    findByPrefix,
    idOf,
    findById,
    /** Makes the same store calls whether the name exists or not. */
    findByUsername: async (typed: string) => findById((await idOf(typed)) ?? UNUSED_ID),
    /** The username of an interrupted addition, which doesn't lead to its user yet; empty if no user had the id, else undefined. */
    async begunName(id: string): Promise<string | undefined> {
      const document = await documents.get(USERS, id);
      const { username = '' } = (document && parseUser(id, document.value)) ?? {};
      return document === undefined || (username && (await idOf(username)) !== id) ? username : undefined;
    },
    /** Resolves false if another user in the store has the username, undefined if the id is or was in use. */
    async add({ id, username, passwordHash, groups = [], claims }: NewUser): Promise<boolean | undefined> {
      const entries = indexEntriesOf(id, { username, claims });
      // Added first, so that the user is always in the indexes.
      await forAll(index, 'put', entries);
      const form = JSON.stringify(toForm({ username, passwordHash, groups, claims, validAfter: 0 }));
      // Overwrites no user. With the same name, an outage may have interrupted this act before it wrote the name.
      const isWritten = await documents.put(USERS, id, form, 0);
      if (!isWritten && (await findById(id))?.username !== username) return undefined;
      if (await claimName(documents, username, id)) return true;
      if ((await idOf(username)) === id) return undefined;
      await documents.remove(USERS, id, 1);
      await forAll(index, 'remove', entries);
      return false;
    },
    /** Ends every session and token of the user. Resolves undefined also if `since` isn't the user's `validAfter`. */
    setPassword: (id: string, passwordHash: string, after: number, since?: number) =>
      change(id, ({ validAfter }) =>
        (since ?? validAfter) === validAfter
          ? { passwordHash, validAfter: nextValidAfter(validAfter, after) }
          : undefined,
      ),
    setGranted: (id: string, to: (before: Granted) => Granted | undefined) => change(id, to),
    /** Stores a new hash of the same password. Does nothing if `from` is no longer the stored hash. */
    async renewHash(id: string, from: string, to: string): Promise<void> {
      await change(id, ({ passwordHash }) => (passwordHash === from ? { passwordHash: to } : undefined));
    },
    /** Ends all sessions and tokens of the user, and frees the username for other users. Resolves false if there is no such user. */
    async remove(id: string): Promise<boolean> {
      let user: User | undefined;
      for (let isGone = false; !isGone;) {
        const document = await documents.get(USERS, id);
        user = document && parseUser(id, document.value);
        if (document === undefined || user === undefined) return false;
        isGone = await documents.put(USERS, id, TOMBSTONE, document.version);
      }
      const { username = '' } = user ?? {};
      const name = canonicalUsername(username);
      const claimed = await documents.get(USERNAMES, name);
      // Otherwise, another user has taken the name in the meantime, which is allowed.
      if (claimed?.value === id) await documents.remove(USERNAMES, name, claimed.version);
      await forAll(index, 'remove', user ? indexEntriesOf(id, user) : []);
      return true;
    },
  };
}

/** Stays forever, so that the id is never reused. Contains no data of the user. */
const TOMBSTONE = JSON.stringify({ v: FORM_VERSION, deleted: true });

const toForm = ({ username, passwordHash, groups, claims, validAfter }: Stored) => ({
  v: FORM_VERSION,
  username,
  /** Absent for an invited user who hasn't set a password yet. */
  password_hash: passwordHash,
  groups,
  claims,
  valid_after: validAfter,
});

const nameOf = (id: string) => ({ collection: USERS, id, what: WHAT });
const parseUser = (id: string, text: string) => toUser(id, parseForm(text, WHAT, nameOf(id)));

/** Returns undefined for a user who was deleted or never existed. */
function toUser(id: string, form: StoredForm): User | undefined {
  if (!('username' in form)) return undefined;
  const {
    username,
    password_hash: passwordHash,
    // Absent in documents from before there were groups.
    groups = [],
    claims = {},
    valid_after: validAfter,
  } = form as Partial<ReturnType<typeof toForm>>;
  if (typeof username !== 'string' || typeof validAfter !== 'number')
    throw new UnreadableForm(WHAT, nameOf(id), 'a member is missing or of another type');
  const named = withName(username, claims);
  return userOfStore({ id, username, passwordHash, groups, claims: named, validAfter });
}
