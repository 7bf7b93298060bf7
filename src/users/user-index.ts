// Which sessions and grants a user has, and what happened to their account lately: two documents a user, which name records
// and say no more of them than when they end. Written with the record that is new, and bounded: who has too many loses the oldest.
import type { SECURITY_EVENTS } from '../config/security-events.ts';
import { changeDocument, removeDocument } from '../store/documents.ts';
import { parseForm, type StoredForm } from '../store/form.ts';
import type { DocumentStore } from '../store/store.ts';

/** What a user knows a browser by again (oidc/place.ts). */
export type Place = Readonly<{
  /** "Firefox, Linux"; empty where that isn't known. */
  browser: string;
  /** The network of its address. */
  network: string;
}>;

const SESSIONS = 'person-sessions';
const GRANTS = 'person-grants';
const WHAT = "the list of a user's sessions or grants";
const MAX_SESSIONS = 100;
const MAX_GRANTS = 1000;
/** Sign-ins push out no other event. */
const MAX_SIGN_INS = 10;
const MAX_OTHERS = 30;

/** Epoch seconds by the clock of the store, as all times here. */
type Ending = { readonly ends: number };
/** `uid`: names the session, and isn't its cookie. */
type SessionEntry = Ending & { readonly uid: string };
/** `key`: of the record. */
export type GrantEntry = Ending & { readonly key: string; readonly clientId: string };

export type SecurityEvent = Readonly<{
  what: (typeof SECURITY_EVENTS)[number];
  at: number;
  place?: Place | undefined;
  /** The client. */
  app?: string | undefined;
}>;

/** The first two are one document. */
type Lists = Readonly<{
  sessions: readonly SessionEntry[];
  events: readonly SecurityEvent[];
  grants: readonly GrantEntry[];
}>;

export type UserIndex = ReturnType<typeof createUserIndex>;

/** `seconds`: epoch seconds of the store. */
export function createUserIndex(documents: DocumentStore, seconds: () => number) {
  async function read(collection: string, accountId: string): Promise<Lists> {
    const document = await documents.get(collection, accountId);
    return toLists(document === undefined ? {} : parseForm(document.value, WHAT));
  }

  const change = (collection: string, id: string, to: (before: Lists) => Partial<Lists> | undefined) =>
    changeDocument(documents, { collection, id, what: WHAT }, (form) => to(toLists(form)));

  /** Without those whose time is over; `lost` are the oldest of too many. */
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
    /** The newest last. */
    eventsOf: async (accountId: string) => (await read(SESSIONS, accountId)).events,
    grantsOf: async (accountId: string) => (await read(GRANTS, accountId)).grants,

    /** Resolves the sessions that the user has to lose for it. */
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

/** Both documents of a user. Throws StoreUnavailable. */
export async function removeUserLists(documents: DocumentStore, accountId: string): Promise<void> {
  for (const collection of [SESSIONS, GRANTS]) await removeDocument(documents, collection, accountId);
}

const NONE: Lists = { sessions: [], events: [], grants: [] };
const toLists = (form: StoredForm): Lists => ({ ...NONE, ...form });
