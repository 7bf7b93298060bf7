// What may change about a user while the service runs, for users of the file too: disabled or not, and what has ended
// everything that was issued before. It is asked with each request, so a change counts on every node at once.
import { changeDocument, readDocuments, type OnUnreadable } from '../store/documents.ts';
import { FORM_VERSION, NewerForm, parseForm, type StoredForm, UnreadableForm } from '../store/form.ts';
import type { Clock, DocumentStore } from '../store/store.ts';

const COLLECTION = 'account-state';
const WHAT = 'the state of a user';
/** Of a user with a second factor. Versions before it know no factors, or go by the file alone: they answer 503, not with a password alone. */
const FORM_WITH_FACTORS = 2;

export type AccountState = Readonly<{
  disabled: boolean;
  /** Changes whenever everything of the user ends; 0 before. Epoch seconds. */
  validAfter: number;
  /** Epoch milliseconds of when an operator last enabled them: failed sign-ins from before don't count any more. */
  attemptsSince?: number | undefined;
  /** Names the password and the state that the file gave this user last; another one voids what was issued before. */
  credential?: string | undefined;
  /** A file without the entry was applied: everything of the user ends when the entry returns. */
  removed?: boolean | undefined;
  /** Whether the user has a second factor: true before the first is there, and until the last is gone (factors.ts). */
  hasFactors?: true | undefined;
  /** Epoch seconds, no more than an hour before the last time. */
  lastSignIn?: number | undefined;
}>;

const INITIAL: AccountState = { disabled: false, validAfter: 0 };

/** `after` (epoch seconds), or later: two acts never get the same moment, also within one second. */
export const nextValidAfter = (before: number, after: number): number => Math.max(after, before + 1);

export const nextSecond = (now: Clock) => Math.floor(now() / 1000) + 1;
export const laterThan = (validAfter: number, now: Clock) => nextValidAfter(validAfter, nextSecond(now));

type StateChange = (before: AccountState) => Partial<AccountState> | undefined;

export type AccountStates = ReturnType<typeof createAccountStates>;

export function createAccountStates(documents: DocumentStore) {
  return {
    async get(accountId: string): Promise<AccountState> {
      const document = await documents.get(COLLECTION, accountId);
      return document === undefined ? INITIAL : parseState(accountId, document.value);
    },
    /** Of those of whom something is stored, by id. */
    getAll: async (ids: readonly string[], onFault?: OnUnreadable) =>
      readDocuments(await documents.getAll(COLLECTION, ids), parseState, onFault),
    /** Resolves the state that it has then. A function is asked again where somebody else wrote meanwhile; undefined changes nothing. */
    async update(accountId: string, change: Partial<AccountState> | StateChange): Promise<AccountState> {
      let state = INITIAL;
      await changeDocument(documents, { ...placeOf(accountId), what: WHAT }, (form) => {
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

/** Keeps when a user signs in, in one write an hour. `remembered`: as this request has read it. */
export const createNoteSignIn =
  (states: Pick<AccountStates, 'update'>, remembered: Pick<AccountStates, 'get'>, now: Clock) =>
  async (accountId: string): Promise<void> => {
    const at = Math.floor(now() / 1000);
    const isNoted = ({ lastSignIn = 0 }: AccountState) => Math.abs(at - lastSignIn) < NOTED_FOR_SECONDS;
    if (isNoted(await remembered.get(accountId))) return;
    await states.update(accountId, (state) => (isNoted(state) ? undefined : { lastSignIn: at }));
  };

const placeOf = (id: string) => ({ collection: COLLECTION, id, newest: FORM_WITH_FACTORS });
const parseState = (id: string, text: string) => toState(id, parseForm(text, WHAT, placeOf(id)));

function toState(id: string, form: StoredForm): AccountState {
  const state = { ...INITIAL, ...form } as AccountState;
  const { disabled, validAfter, attemptsSince, credential, removed, hasFactors, lastSignIn } = state;
  if (typeof disabled !== 'boolean' || typeof validAfter !== 'number')
    throw new UnreadableForm(WHAT, placeOf(id), 'a member is missing or of another type');
  // Of a later version, which means something else by this form.
  if (Number(form['v']) > FORM_VERSION && hasFactors !== true) throw new NewerForm(WHAT, form['v']);
  return { disabled, validAfter, attemptsSince, credential, removed, hasFactors, lastSignIn };
}
