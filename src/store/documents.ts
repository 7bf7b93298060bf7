// Changing one document of the store, however many others do at the same time.
import { FORM_VERSION, parseForm, type StoredForm } from './form.ts';
import type { DocumentStore } from './store.ts';

type DocumentName = {
  readonly collection: string;
  readonly id: string;
  /** For errors: "the state of a person". */
  readonly what: string;
};

/**
 * Writes what `to` makes of the document, together with the members that a newer version added. `to` gets an empty form where there is
 * none, is called again where another process wrote meanwhile, and returns undefined for no change. Resolves whether it was written. Throws
 * StoreUnavailable.
 */
export async function changeDocument(
  documents: Pick<DocumentStore, 'get' | 'put'>,
  { collection, id, what }: DocumentName,
  to: (before: StoredForm) => StoredForm | undefined | Promise<StoredForm | undefined>,
): Promise<boolean> {
  for (;;) {
    const document = await documents.get(collection, id);
    const before = document === undefined ? {} : parseForm(document.value, what);
    const changed = await to(before);
    if (changed === undefined) return false;
    const text = JSON.stringify({ ...before, ...changed, v: FORM_VERSION });
    if (await documents.put(collection, id, text, document?.version ?? 0)) return true;
  }
}

/** Idempotent. Throws StoreUnavailable. */
export async function removeDocument(
  documents: Pick<DocumentStore, 'get' | 'remove'>,
  collection: string,
  id: string,
): Promise<void> {
  for (;;) {
    const document = await documents.get(collection, id);
    if (document === undefined || (await documents.remove(collection, id, document.version))) return;
  }
}
