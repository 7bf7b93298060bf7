// People whom the command line adds, as documents of the store: one for the person, by id, and one for the login name, which
// names the id.
//
// No write spans two documents. The person is written first and the name last, so the name's compare-and-set decides which write
// wins, and a crash leaves behind at most a person whom no name leads to. Deleting leaves a tombstone under the id.
import type { StoreConfig, User } from '../config/config.ts';
import { canonicalUsername } from '../config/username.ts';
import { FORM_VERSION, parseForm, type StoredForm } from '../store/form.ts';
import { isStoreMade, withStore } from '../store/open.ts';
import type { DocumentStore } from '../store/store.ts';
import { nextValidAfter } from './account-state.ts';

const PEOPLE = 'people';
const NAMES = 'usernames';
const WHAT = 'a person';
/** No id has this form: looking up an unknown name costs what looking up a known one does. */
const NOBODY = 'nobody';

export type Person = User;

/** A person of the store. */
export type StoredPerson = Person & {
  /** As that of an AccountState; changes with the password. */
  readonly validAfter: number;
};

type Granted = Pick<User, 'groups' | 'claims'>;
type NewPerson = Pick<Person, 'id' | 'username' | 'passwordHash' | 'claims'> & Partial<Pick<User, 'groups'>>;

type PersonForm = {
  readonly v: number;
  readonly username: string;
  /** Absent: invited, and not there yet. */
  readonly password_hash?: string | undefined;
  /** Absent: written before there were groups. */
  readonly groups?: readonly string[];
  readonly claims: Readonly<Record<string, unknown>>;
  readonly valid_after: number;
};

/** Undefined: nothing to change. */
type Change = (found: Read) => StoredForm | undefined;
type Read = { readonly person: StoredPerson; readonly form: StoredForm; readonly version: number };

/** Every method throws StoreUnavailable. */
export interface People {
  findById(id: string): Promise<StoredPerson | undefined>;
  /** Who claims the name, as it was typed. What it leads to may be gone. */
  idOf(typed: string): Promise<string | undefined>;
  /** As it was typed. Makes the same store calls whether the name exists or not. */
  findByUsername(typed: string): Promise<StoredPerson | undefined>;
  list(): Promise<readonly StoredPerson[]>;
  /** False: the login name is taken by another person of the store. */
  add(person: NewPerson): Promise<boolean>;
  /**
   * Ends every session and token of the person. Undefined: there is no such person any more, or `since` is given and isn't
   * their `validAfter`.
   */
  setPassword(
    id: string,
    passwordHash: string,
    after: number,
    since?: number,
  ): Promise<StoredPerson | undefined>;
  /** Undefined: there is no such person any more. */
  setGranted(id: string, to: (before: Granted) => Granted): Promise<StoredPerson | undefined>;
  /** The same password, hashed anew. Nothing happens where `from` is not what is stored any more. */
  renewHash(id: string, from: string, to: string): Promise<void>;
  /** Ends everything of the person and frees the login name for somebody else. False: there is no such person. */
  remove(id: string): Promise<boolean>;
}

/** For the command line. Rejects when the store can't be opened. */
export async function listStoredPeople(store: StoreConfig): Promise<readonly StoredPerson[]> {
  // Looking makes no store.
  if (!isStoreMade(store)) return [];
  return withStore(store, ({ documents }) => createPeople(documents).list());
}

async function readPerson(documents: DocumentStore, id: string): Promise<Read | undefined> {
  const document = await documents.get(PEOPLE, id);
  const form = document && parseForm(document.value, WHAT);
  const person = form && toPerson(id, form);
  return document && person && { person, form, version: document.version };
}

export function createPeople(documents: DocumentStore): People {
  const read = (id: string) => readPerson(documents, id);

  async function idOf(typed: string): Promise<string | undefined> {
    const claimed = await documents.get(NAMES, canonicalUsername(typed));
    return claimed?.value;
  }

  async function findByUsername(typed: string): Promise<StoredPerson | undefined> {
    const found = await read((await idOf(typed)) ?? NOBODY);
    return found?.person;
  }

  /** Repeats until no other write came in between. Resolves what is stored then, undefined where nothing was written. */
  async function change(id: string, to: Change): Promise<StoredForm | undefined> {
    for (;;) {
      const found = await read(id);
      const next = found && to(found);
      if (found === undefined || next === undefined) return undefined;
      if (await documents.put(PEOPLE, id, JSON.stringify(next), found.version)) return next;
    }
  }

  async function update(
    id: string,
    to: (before: StoredPerson) => Partial<StoredPerson> | undefined,
  ): Promise<StoredPerson | undefined> {
    const changed = await change(id, ({ person, form }) => {
      const next = to(person);
      return next && { ...form, ...toForm({ ...person, ...next }) };
    });
    return changed && toPerson(id, changed);
  }

  /** A name that leads to no person, because a removal ended half way, is free: that person never comes back. */
  async function claimName(username: string, id: string): Promise<boolean> {
    const name = canonicalUsername(username);
    const claimed = await documents.get(NAMES, name);
    if (claimed !== undefined && (await read(claimed.value)) !== undefined) return false;
    return documents.put(NAMES, name, id, claimed?.version ?? 0);
  }

  return {
    idOf,
    findByUsername,
    findById: async (id) => (await read(id))?.person,
    async list() {
      const [people, names] = await Promise.all([documents.list(PEOPLE), documents.list(NAMES)]);
      const reachable = new Set(names.map(({ value }) => value));
      return people
        .map(({ id, value }) => toPerson(id, parseForm(value, WHAT)))
        .filter((person) => person !== undefined)
        .filter(({ id }) => reachable.has(id));
    },
    async add({ id, username, passwordHash, groups = [], claims }) {
      const form = JSON.stringify(toForm({ username, passwordHash, groups, claims, validAfter: 0 }));
      // The id is random: a second one of it is a mistake, and never somebody's place to take.
      if (!(await documents.put(PEOPLE, id, form, 0))) throw new Error(`the id ${id} is taken`);
      if (await claimName(username, id)) return true;
      await documents.remove(PEOPLE, id, 1);
      return false;
    },
    setPassword: (id, ...password) => update(id, (before) => withPassword(before, ...password)),
    setGranted: update,
    async renewHash(id, from, to) {
      await update(id, ({ passwordHash }) => (passwordHash === from ? { passwordHash: to } : undefined));
    },
    async remove(id) {
      const found = await read(id);
      if (found === undefined || !(await change(id, () => TOMBSTONE))) return false;
      const name = canonicalUsername(found.person.username);
      const claimed = await documents.get(NAMES, name);
      // False: somebody has taken it meanwhile, which they may.
      if (claimed?.value === id) await documents.remove(NAMES, name, claimed.version);
      return true;
    },
  };
}

function withPassword(
  { validAfter }: StoredPerson,
  passwordHash: string,
  after: number,
  since = validAfter,
): Partial<StoredPerson> | undefined {
  if (since !== validAfter) return undefined;
  return { passwordHash, validAfter: nextValidAfter(validAfter, after) };
}

/** Stays for ever, so that the id is never given to somebody else; nothing of the person is left in it. */
const TOMBSTONE = { v: FORM_VERSION, deleted: true };

function toForm(person: Omit<StoredPerson, 'id' | 'disabled'>): PersonForm {
  const { username, passwordHash, groups, claims, validAfter } = person;
  return {
    v: FORM_VERSION,
    username,
    password_hash: passwordHash,
    groups,
    claims,
    valid_after: validAfter,
  };
}

/** Undefined for who was deleted. */
function toPerson(id: string, form: StoredForm): StoredPerson | undefined {
  if ('deleted' in form) return undefined;
  const {
    username,
    password_hash: passwordHash,
    groups = [],
    claims,
    valid_after: validAfter,
  } = form as PersonForm;
  return { id, username, passwordHash, disabled: false, groups, claims, validAfter };
}
