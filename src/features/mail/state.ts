// The email state of a user besides their claims, one document each.
import { changeDocument, removeDocument } from '../../store/documents.ts';
import { parseForm } from '../../store/form.ts';
import type { DocumentStore } from '../../store/store.ts';

const NAME = { collection: 'mail-state', what: 'the email state of a user' };

/** `from`: the claim that it replaces. It ends when the user's `generation` changes. */
type Pending = Readonly<{ id: string; address: string; from?: unknown; generation: string | undefined }>;

/** `id`: that of its links. Unless `isDone`, it may have been interrupted. `until`: when `to` replaced `from` (epoch milliseconds). */
type Change = Readonly<{ id: string; to: string; from?: unknown; isDone?: boolean; until?: number }>;

export type MailState = Readonly<{
  pending?: Pending | undefined;
  changes?: readonly Change[];
  /** The address whose server permanently refused the last email to it, and when (epoch milliseconds). */
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
