// What email keeps of a user beside their claims, a document for each.
import { changeDocument, removeDocument } from '../../store/documents.ts';
import { parseForm } from '../../store/form.ts';
import type { DocumentStore } from '../../store/store.ts';

const NAME = { collection: 'mail-state', what: 'the email state of a user' };

/** `from`: the claim that it replaces. It ends with `generation`. */
type Pending = Readonly<{ id: string; address: string; from?: unknown; generation: string | undefined }>;

/** `id`: of the link that confirmed it, and of the one that undoes it. `isDone`: else it may have been cut off. */
type Change = Readonly<{ id: string; from?: unknown; to: string; isDone?: boolean }>;

export type MailState = Readonly<{
  /** A new address that isn't confirmed. */
  pending?: Pending | undefined;
  /** That can be undone, the oldest first. */
  changes?: readonly Change[];
  /** The address whose server refused the last email to it for good, and when (epoch milliseconds). */
  refused?: Readonly<{ address: string; at: number }> | undefined;
}>;

export type MailStates = ReturnType<typeof createMailStates>;

export const createMailStates = (documents: DocumentStore) => ({
  async get(accountId: string): Promise<MailState> {
    const document = await documents.get(NAME.collection, accountId);
    return document === undefined ? {} : parseForm(document.value, NAME.what);
  },
  /** Resolves whether something was changed. `to` may be called again. */
  update: (id: string, to: (before: MailState) => MailState | undefined) =>
    changeDocument(documents, { ...NAME, id }, to),
  remove: (accountId: string) => removeDocument(documents, NAME.collection, accountId),
});
