// Changes one document of the store safely, even if others do at the same time.
import { FORM_VERSION, FormFault, parseForm, type Place, type StoredForm } from './form.ts';
import type { DocumentStore, StoredDocument } from './store.ts';

/** Called with each document that can't be read. The others are still read. */
export type OnUnreadable = (id: string, fault: FormFault) => void;

/** Another caller has written the document meanwhile. */
export class DocumentChanged extends Error {}

/** Runs `work` again if another caller changed the document meanwhile. */
export async function untilUnchanged<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DocumentChanged)) throw error;
    }
  }
}

/** `what`: the document's name in errors, such as "the state of a user". */
type DocumentName = Place & { readonly what: string };

/** Resolves with the members of a document, none if it doesn't exist. Throws StoreUnavailable. */
export async function readMembers(
  documents: Pick<DocumentStore, 'get'>,
  name: DocumentName,
): Promise<StoredForm> {
  const document = await documents.get(name.collection, name.id);
  return document === undefined ? {} : parseForm(document.value, name.what, name);
}

/**
 * Writes the members that `to` returns and preserves all others, such as those of a newer version. `to` gets an empty form if there is
 * no document, runs again if another process wrote meanwhile, and returns undefined for no change. Resolves with whether it wrote. Throws
 * StoreUnavailable.
 */
export async function changeDocument(
  documents: Pick<DocumentStore, 'get' | 'put'>,
  name: DocumentName,
  to: (before: StoredForm) => StoredForm | undefined | Promise<StoredForm | undefined>,
): Promise<boolean> {
  const { collection, id, what } = name;
  for (;;) {
    const document = await documents.get(collection, id);
    const before = document === undefined ? {} : parseForm(document.value, what, name);
    const changed = await to(before);
    if (changed === undefined) return false;
    const text = JSON.stringify({ v: FORM_VERSION, ...before, ...changed });
    if (await documents.put(collection, id, text, document?.version ?? 0)) return true;
  }
}

/** Returns the readable documents, by ID. */
export function readDocuments<Read>(
  documents: readonly (StoredDocument | undefined)[],
  read: (id: string, value: string, version: number) => Read,
  onFault: OnUnreadable = () => {},
): ReadonlyMap<string, Read> {
  const found = new Map<string, Read>();
  for (const { id, value, version } of documents.filter((one) => one !== undefined)) {
    try {
      found.set(id, read(id, value, version));
    } catch (error) {
      if (!(error instanceof FormFault)) throw error;
      onFault(id, error);
    }
  }
  return found;
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
