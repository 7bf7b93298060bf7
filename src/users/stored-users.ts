// Users whom the command line adds, as documents of the store: one for the user, by id, and one for the login name, which
// names the id.
//
// Indexes have them by name, and by what features look them up by (username-index.ts).
//
// No write spans two documents. The user is written first and the name last, so the name's compare-and-set decides which write
// wins, and a crash leaves behind at most a user whom no name leads to. Deleting leaves a tombstone under the id.
import { canonicalUsername } from '../config/text.ts';
import { changeDocument, type OnUnreadable, readDocuments } from '../store/documents.ts';
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
import { indexEntriesOf, PEOPLE, USERNAMES, type UserEntries, usernameSort } from './username-index.ts';

const WHAT = 'a user';
/** No id has this form: looking up an unknown name costs what looking up a known one does. */
const NOBODY = 'nobody';

type Stored = Pick<User, 'username' | 'passwordHash' | 'groups' | 'claims' | 'validAfter'>;
/** `atOnce`: in one page. */
type NameRange = { readonly after: string; readonly atOnce: number };
type IndexedStore = Pick<Store, 'documents' | 'index'>;
type Granted = Pick<User, 'groups' | 'claims'>;
export type NewUser = Pick<User, 'id' | 'username' | 'passwordHash' | 'claims'> & Partial<Granted>;

/** The login name is what apps show of a user who has no other name for that. */
export const withName = (username: string, claims: User['claims']): User['claims'] => ({
  preferred_username: username,
  ...claims,
});

type Change = (before: User) => Partial<Stored> | undefined;

async function readUser(documents: DocumentStore, id: string): Promise<User | undefined> {
  const document = await documents.get(PEOPLE, id);
  return document && parseUser(id, document.value);
}

/** A name that leads to no user, because a removal ended half way, is free: that user never comes back. */
async function claimName(documents: DocumentStore, username: string, id: string): Promise<boolean> {
  const name = canonicalUsername(username);
  const claimed = await documents.get(USERNAMES, name);
  if (claimed !== undefined && (await readUser(documents, claimed.value)) !== undefined) return false;
  return documents.put(USERNAMES, name, id, claimed?.version ?? 0);
}

/** Whom the entries lead to: who was deleted loses theirs, and a user who is just being added isn't there yet. */
async function usersOf(
  { documents, index }: IndexedStore,
  name: string,
  entries: readonly IndexEntry[],
  onFault?: OnUnreadable,
) {
  const ids = entries.map(({ id }) => id);
  const found = readDocuments(await documents.getAll(PEOPLE, ids), parseUser, onFault);
  const gone = entries.filter(({ id }) => found.has(id) && found.get(id) === undefined);
  // Reading isn't stopped by a store that takes no writes.
  for (const { sort, id } of gone) await index.remove(name, sort, id).catch(ifUnavailable);
  const users = entries.flatMap(({ sort, id }) => {
    const user = found.get(id);
    return user && indexEntriesOf(id, user).some((one) => one.index === name && one.sort === sort)
      ? [user]
      : [];
  });
  return reachable(documents, users);
}

/** Without users whom no name leads to. */
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

/** In no order. A user who was there all the time is in one page at least. */
async function* pagesOf(documents: DocumentStore) {
  let next: string | undefined;
  do {
    const page = await documents.page(PEOPLE, next);
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

/** Which of them the others lack. */
const missingIn = (others: UserEntries, entries: UserEntries) =>
  entries.filter(({ index, sort }) => !others.some((one) => one.index === index && one.sort === sort));

const forAll = (index: IndexStore, act: 'put' | 'remove', entries: UserEntries) =>
  Promise.all(entries.map(({ index: name, sort, id }) => index[act](name, sort, id)));

/** Resolves the user as they are then. Undefined where there is none any more, or nothing to change. */
async function changeUser({ documents, index }: IndexedStore, id: string, to: Change) {
  let changed: User | undefined;
  let stale: UserEntries = [];
  await changeDocument(documents, { collection: PEOPLE, id, what: WHAT }, async (form) => {
    const before = toUser(id, form);
    const next = before && to(before);
    changed = before && next && userOfStore({ ...before, ...next });
    if (before === undefined || changed === undefined) return undefined;
    const [old, own] = [indexEntriesOf(id, before), indexEntriesOf(id, changed)];
    // First, so that no user is without it.
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

  /** Who claims the name, as it was typed. What it leads to may be gone. */
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
    /** Page by page, for what needs little of each user. */
    pages: () => pagesOf(documents),
    /** Page by page, in the order of their names: those after a name, as it was typed. */
    byName: (range: NameRange, onFault: OnUnreadable) => usersByName(store, range, onFault),
    /** Whom an index of a feature leads to; `sort` is all of theirs. */
    findBySort: (name: string, sort: string, limit: number) => findByPrefix(name, `${sort}\0`, limit),
    findByPrefix,
    idOf,
    findById,
    /** As it was typed. Makes the same store calls whether the name exists or not. */
    findByUsername: async (typed: string) => findById((await idOf(typed)) ?? NOBODY),
    /** False: the login name is taken by another user of the store. Undefined: the id is, or was. */
    async add({ id, username, passwordHash, groups = [], claims }: NewUser): Promise<boolean | undefined> {
      const entries = indexEntriesOf(id, { username, claims });
      const begun = await documents.get(PEOPLE, id);
      // Else an outage may have cut off the same before the name.
      if (begun !== undefined && parseUser(id, begun.value)?.username !== username) return undefined;
      if (begun === undefined) {
        // First, so that no user is without them.
        await forAll(index, 'put', entries);
        const form = JSON.stringify(toForm({ username, passwordHash, groups, claims, validAfter: 0 }));
        // It is never somebody's place to take.
        if (!(await documents.put(PEOPLE, id, form, 0))) return undefined;
      }
      if (await claimName(documents, username, id)) return true;
      if ((await idOf(username)) === id) return undefined;
      await documents.remove(PEOPLE, id, 1);
      await forAll(index, 'remove', entries);
      return false;
    },
    /** Ends every session and token of the user. Undefined also where `since` is given and isn't their `validAfter`. */
    setPassword: (id: string, passwordHash: string, after: number, since?: number) =>
      change(id, ({ validAfter }) =>
        (since ?? validAfter) === validAfter
          ? { passwordHash, validAfter: nextValidAfter(validAfter, after) }
          : undefined,
      ),
    setGranted: (id: string, to: (before: Granted) => Granted | undefined) => change(id, to),
    /** The same password, hashed anew. Nothing happens where `from` is not what is stored any more. */
    async renewHash(id: string, from: string, to: string): Promise<void> {
      await change(id, ({ passwordHash }) => (passwordHash === from ? { passwordHash: to } : undefined));
    },
    /** Ends everything of the user and frees the login name for somebody else. False: there is no such user. */
    async remove(id: string): Promise<boolean> {
      let user: User | undefined;
      for (let isGone = false; !isGone;) {
        const document = await documents.get(PEOPLE, id);
        user = document && parseUser(id, document.value);
        if (document === undefined || user === undefined) return false;
        isGone = await documents.put(PEOPLE, id, TOMBSTONE, document.version);
      }
      const { username = '' } = user ?? {};
      const name = canonicalUsername(username);
      const claimed = await documents.get(USERNAMES, name);
      // False: somebody has taken it meanwhile, which they may.
      if (claimed?.value === id) await documents.remove(USERNAMES, name, claimed.version);
      await forAll(index, 'remove', user ? indexEntriesOf(id, user) : []);
      return true;
    },
  };
}

/** Stays for ever, so that the id is never given to somebody else; nothing of the user is left in it. */
const TOMBSTONE = JSON.stringify({ v: FORM_VERSION, deleted: true });

const toForm = ({ username, passwordHash, groups, claims, validAfter }: Stored) => ({
  v: FORM_VERSION,
  username,
  /** Absent: invited, and not there yet. */
  password_hash: passwordHash,
  groups,
  claims,
  valid_after: validAfter,
});

const parseUser = (id: string, text: string) => toUser(id, parseForm(text, WHAT, { collection: PEOPLE, id }));

/** Undefined for who was deleted, or never was. */
function toUser(id: string, form: StoredForm): User | undefined {
  if (!('username' in form)) return undefined;
  const {
    username,
    password_hash: passwordHash,
    // Absent: written before there were groups.
    groups = [],
    claims = {},
    valid_after: validAfter,
  } = form as Partial<ReturnType<typeof toForm>>;
  if (typeof username !== 'string' || typeof validAfter !== 'number')
    throw new UnreadableForm(WHAT, { collection: PEOPLE, id }, 'a member is missing or of another type');
  const named = withName(username, claims);
  return userOfStore({ id, username, passwordHash, groups, claims: named, validAfter });
}
