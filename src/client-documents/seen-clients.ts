// Which clients that nobody registered have had tokens, for `postern client list`: documents that were fetched have an end in the
// store, and can't be listed there.
import { FORM_VERSION, readForm } from '../store/form.ts';
import type { DocumentStore } from '../store/store.ts';

const COLLECTION = 'document-clients';
/** Anybody may publish documents on some hosts; beyond this the oldest are forgotten. */
const MOST = 1000;

export type SeenClient = {
  readonly clientId: string;
  /** Epoch seconds. */
  readonly firstSeen: number;
};

/** Once for a client: later calls change nothing. `at` in epoch seconds. */
export async function noteSeenClient(documents: DocumentStore, clientId: string, at: number): Promise<void> {
  const value = JSON.stringify({ v: FORM_VERSION, at });
  const isNew = await documents.put(COLLECTION, clientId, value, 0);
  if (!isNew) return;
  const stored = await documents.list(COLLECTION);
  const oldest = stored.toSorted((left, right) => seenAt(left.value) - seenAt(right.value));
  for (const { id, version } of oldest.slice(0, Math.max(0, stored.length - MOST)))
    await documents.remove(COLLECTION, id, version);
}

/** The first one first. */
export async function readSeenClients(documents: DocumentStore): Promise<readonly SeenClient[]> {
  const stored = await documents.list(COLLECTION);
  return stored
    .map(({ id, value }) => ({ clientId: id, firstSeen: seenAt(value) }))
    .toSorted((left, right) => left.firstSeen - right.firstSeen);
}

/** Of a damaged one nothing is known: it is the oldest. */
function seenAt(value: string): number {
  const at = readForm(value, 'when a client was first seen')?.['at'];
  return typeof at === 'number' ? at : 0;
}
