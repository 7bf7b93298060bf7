// The state of a user that can change at runtime, for users in the file, too: whether the user is disabled, and since when sessions
// and tokens are valid. Each request reads it, so a change takes effect on all nodes at once.
import { changeDocument, type OnUnreadable, readMembers, readDocuments } from '../store/documents.ts';
import { FORM_VERSION, NewerForm, parseForm, type StoredForm, UnreadableForm } from '../store/form.ts';
import type { Clock, DocumentStore } from '../store/store.ts';

const COLLECTION = 'account-state';
const WHAT = 'the state of a user';
/** For a user with a second factor. Versions without factors, or that only check the file, respond 503: no password alone works. */
const FORM_WITH_FACTORS = 2;

export type AccountState = Readonly<{
  disabled: boolean;
  /** Changes whenever all sessions and tokens of the user end; 0 before. Epoch seconds. */
  validAfter: number;
  /** When the user was last enabled or accepted a one-time link, in epoch milliseconds: earlier failed sign-ins don't count. */
  attemptsSince?: number | undefined;
  /** Identifies the password and state in the last file. If they change, sessions and tokens end. */
  credential?: string | undefined;
  /** A file without the entry was applied: all sessions and tokens of the user end when the entry returns. */
  removed?: boolean | undefined;
  /** Whether the user has a second factor: true before the first is stored, and until the last is removed (factors.ts). */
  hasFactors?: true | undefined;
  /** Epoch seconds, at most an hour before the last sign-in. */
  lastSignIn?: number | undefined;
}>;

const INITIAL: AccountState = { disabled: false, validAfter: 0 };

/** Returns `after` (epoch seconds) or a later second: two acts never get the same value, even within one second. */
export const nextValidAfter = (before: number, after: number) => Math.max(after, before + 1);

export const nextSecond = (now: Clock) => Math.floor(now() / 1000) + 1;
export const laterThan = (validAfter: number, now: Clock) => nextValidAfter(validAfter, nextSecond(now));

type StateChange = (before: AccountState) => Partial<AccountState> | undefined;

export type AccountStates = ReturnType<typeof createAccountStates>;

export function createAccountStates(documents: DocumentStore) {
  return {
    get: async (id: string) => toState(id, await readMembers(documents, nameOf(id))),
    getAll: async (ids: readonly string[], onFault?: OnUnreadable) =>
      readDocuments(await documents.getAll(COLLECTION, ids), parseState, onFault),
    /** Resolves the new state. A function is called again if another process wrote in the meantime; undefined changes nothing. */
    async update(accountId: string, change: Partial<AccountState> | StateChange): Promise<AccountState> {
      let state = INITIAL;
      await changeDocument(documents, nameOf(accountId), (form) => {
        state = toState(accountId, form);
        const changed = typeof change === 'function' ? change(state) : change;
        if (changed === undefined) return undefined;
        state = { ...state, ...changed };
        const v = state.hasFactors ? FORM_WITH_FACTORS : FORM_VERSION;
        return { ...INITIAL, ...form, ...changed, v };
      });
      return state;
    },
  };
}

const NOTED_FOR_SECONDS = 3600;

/** Records when a user signs in, with one write an hour. `remembered`: the states that this request has read. */
export const createNoteSignIn =
  (states: Pick<AccountStates, 'update'>, remembered: Pick<AccountStates, 'get'>, now: Clock) =>
  async (accountId: string): Promise<void> => {
    const at = Math.floor(now() / 1000);
    const isNoted = ({ lastSignIn = 0 }: AccountState) => Math.abs(at - lastSignIn) < NOTED_FOR_SECONDS;
    if (isNoted(await remembered.get(accountId))) return;
    await states.update(accountId, (state) => (isNoted(state) ? undefined : { lastSignIn: at }));
  };

const nameOf = (id: string) => ({ collection: COLLECTION, id, what: WHAT, newest: FORM_WITH_FACTORS });
const parseState = (id: string, text: string) => toState(id, parseForm(text, WHAT, nameOf(id)));

function toState(id: string, form: StoredForm): AccountState {
  const state = { ...INITIAL, ...form } as AccountState;
  const { disabled, validAfter, attemptsSince, credential, removed, hasFactors, lastSignIn } = state;
  if (typeof disabled !== 'boolean' || typeof validAfter !== 'number')
    throw new UnreadableForm(WHAT, nameOf(id), 'a member is missing or of another type');
  // A later version wrote it, and uses this form for something else.
  if (Number(form['v']) > FORM_VERSION && hasFactors !== true) throw new NewerForm(WHAT, form['v']);
  return { disabled, validAfter, attemptsSince, credential, removed, hasFactors, lastSignIn };
}
