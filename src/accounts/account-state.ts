// What may change about a person while the service runs, for people of the file too: disabled or not, and since when
// everything issued before counts as ended. Owns the stored form; binds the next request on any node.
import { FORM_VERSION, parseForm, type StoredForm } from '../store/form.ts';
import type { DocumentStore } from '../store/store.ts';

const COLLECTION = 'account-state';
const WHAT = 'the state of a person';

export type AccountState = {
  readonly disabled: boolean;
  /** Epoch seconds: sessions, grants and tokens from before are void. 0 when nothing was voided. */
  readonly validAfter: number;
  /** Epoch milliseconds of when an operator last enabled them: failed sign-ins from before don't count any more. */
  readonly attemptsSince?: number | undefined;
  /** Names the password and the state that the file gave this person last; another one voids what was issued before. */
  readonly credential?: string | undefined;
};

const INITIAL: AccountState = { disabled: false, validAfter: 0 };

export interface AccountStates {
  /** Throws StoreUnavailable. */
  get(accountId: string): Promise<AccountState>;
  update(accountId: string, change: Partial<AccountState>): Promise<void>;
  /** Everybody of whom something is stored, by id. */
  list(): Promise<ReadonlyMap<string, AccountState>>;
}

export function createAccountStates(documents: DocumentStore): AccountStates {
  return {
    async get(accountId) {
      const document = await documents.get(COLLECTION, accountId);
      return document === undefined ? INITIAL : parseState(document.value);
    },
    async list() {
      const stored = await documents.list(COLLECTION);
      return new Map(stored.map(({ id, value }) => [id, parseState(value)]));
    },
    async update(accountId, change) {
      for (;;) {
        const document = await documents.get(COLLECTION, accountId);
        // With what a newer version added.
        const before = document === undefined ? INITIAL : parseForm(document.value, WHAT);
        const done = await documents.put(
          COLLECTION,
          accountId,
          JSON.stringify({ ...before, ...change, v: FORM_VERSION }),
          document?.version ?? 0,
        );
        if (done) return;
      }
    },
  };
}

function parseState(text: string): AccountState {
  const { disabled, validAfter, attemptsSince, credential } = parseForm(text, WHAT) as StoredForm &
    AccountState;
  return { disabled, validAfter, attemptsSince, credential };
}
