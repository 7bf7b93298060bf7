// The sessions and grants of each user, and recent events of the account: two documents for each user, which contain the names of
// records and their end. They are written with each new record, and bounded: a user with too many loses the oldest.
import type { SECURITY_EVENTS } from '../config/security-events.ts';
import { changeDocument, readMembers, removeDocument } from '../store/documents.ts';
import { type StoredForm, UnreadableForm } from '../store/form.ts';
import { isWhole } from '../store/shape.ts';
import type { DocumentStore } from '../store/store.ts';

/** What helps a user to recognize a browser (oidc/place.ts). */
export type Place = Readonly<{
  /** "Firefox, Linux"; empty if unknown. */
  browser: string;
  /** The network of its address. */
  network: string;
}>;

const SESSIONS = 'person-sessions';
const GRANTS = 'person-grants';
const WHAT = "the list of a user's sessions or grants";
const MAX_SESSIONS = 100;
const MAX_GRANTS = 1000;
/** Separate, so that sign-ins don't displace other events. */
const MAX_SIGN_INS = 10;
const MAX_OTHERS = 30;

/** Epoch seconds by the clock of the store, like all times here. */
type Ending = { readonly ends: number };
/** `uid`: names the session, and isn't its cookie. */
type SessionEntry = Ending & { readonly uid: string };
/** `key`: the key of the record. */
export type GrantEntry = Ending & Readonly<{ key: string; clientId: string }>;

export type SecurityEvent = Readonly<{
  what: (typeof SECURITY_EVENTS)[number];
  at: number;
  place?: Place | undefined;
  /** The client. */
  app?: string | undefined;
}>;

/** `sessions` and `events` are in one document, `grants` in another. */
type Lists = Readonly<{
  sessions: readonly SessionEntry[];
  events: readonly SecurityEvent[];
  grants: readonly GrantEntry[];
}>;

export type UserIndex = ReturnType<typeof createUserIndex>;

/** `seconds`: the clock of the store, in epoch seconds. */
export function createUserIndex(documents: DocumentStore, seconds: () => number) {
  async function read(collection: string, id: string): Promise<Lists> {
    const name = { collection, id, what: WHAT };
    return toLists(name, await readMembers(documents, name));
  }

  function change(collection: string, id: string, to: (before: Lists) => Partial<Lists> | undefined) {
    const name = { collection, id, what: WHAT };
    return changeDocument(documents, name, (form) => to(toLists(name, form)));
  }

  /** Adds an entry and leaves out expired ones. `lost`: the oldest entries above the limit. */
  function bounded<Entry extends Ending>(before: readonly Entry[], added: Entry, most: number) {
    const all = [...before.filter(({ ends }) => ends > seconds()), added];
    const surplus = Math.max(0, all.length - most);
    return { kept: all.slice(surplus), lost: all.slice(0, surplus) };
  }

  function withEvent(before: readonly SecurityEvent[], event: Omit<SecurityEvent, 'at'>) {
    const events = [...before, { ...event, at: seconds() }];
    const ofKind = events.filter(({ what }) => (what === 'signed_in') === (event.what === 'signed_in'));
    const most = event.what === 'signed_in' ? MAX_SIGN_INS : MAX_OTHERS;
    return ofKind.length > most ? events.filter((one) => one !== ofKind[0]) : events;
  }

  return {
    sessionsOf: async (accountId: string) => (await read(SESSIONS, accountId)).sessions,
    /** Resolves the events, the newest last. */
    eventsOf: async (accountId: string) => (await read(SESSIONS, accountId)).events,
    grantsOf: async (accountId: string) => (await read(GRANTS, accountId)).grants,

    /** Resolves the sessions that must end because of the new one. */
    async addSession(accountId: string, entry: SessionEntry, place?: Place) {
      let lost: readonly SessionEntry[] = [];
      await change(SESSIONS, accountId, ({ sessions, events }) => {
        if (sessions.some(({ uid, ends }) => uid === entry.uid && ends === entry.ends)) return undefined;
        const others = sessions.filter(({ uid }) => uid !== entry.uid);
        const after = bounded(others, entry, MAX_SESSIONS);
        ({ lost } = after);
        return { sessions: after.kept, events: withEvent(events, { what: 'signed_in', place }) };
      });
      return lost;
    },
    async addGrant(accountId: string, entry: GrantEntry) {
      let lost: readonly GrantEntry[] = [];
      await change(GRANTS, accountId, ({ grants }) => {
        if (grants.some(({ key }) => key === entry.key)) return undefined;
        const after = bounded(grants, entry, MAX_GRANTS);
        ({ lost } = after);
        return { grants: after.kept };
      });
      return lost;
    },
    async removeGrants(accountId: string, keys: readonly string[]): Promise<void> {
      await change(GRANTS, accountId, ({ grants }) => {
        const left = grants.filter(({ key }) => !keys.includes(key));
        return left.length === grants.length ? undefined : { grants: left };
      });
    },
    async addEvent(accountId: string, event: Omit<SecurityEvent, 'at'>): Promise<void> {
      await change(SESSIONS, accountId, ({ events }) => ({ events: withEvent(events, event) }));
    },
  };
}

/** Throws StoreUnavailable. */
export async function removeUserLists(documents: DocumentStore, accountId: string): Promise<void> {
  for (const collection of [SESSIONS, GRANTS]) await removeDocument(documents, collection, accountId);
}

const NONE: Lists = { sessions: [], events: [], grants: [] };

function toLists(place: Readonly<{ collection: string; id: string }>, form: StoredForm): Lists {
  if (!isWhole(form)) throw new UnreadableForm(WHAT, place, 'a member is missing or of another type');
  return { ...NONE, ...form };
}
