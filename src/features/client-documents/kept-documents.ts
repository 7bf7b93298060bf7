// The documents that were taken, in the store, so that a process that never saw a client knows it. A process's own copies are
// only a cache, for as long as a document is believed.
import type { Client } from '../../config/config.ts';
import { Remembered } from '../../limits/bounded-map.ts';
import type { App } from '../../oidc/app.ts';
import { createReadRecord, FORM_VERSION, type StoredForm } from '../../store/form.ts';
import type { ClientDocument, VettedDocument } from './vet.ts';

const KIND = 'ClientDocument';
/** For how long it may still be used when it isn't believed any more, while its host doesn't answer. */
export const GRACE_MS = 24 * 60 * 60 * 1000;

/** Of which a process remembers anything; a document is some kilobytes at most. */
export const MOST_KNOWN = 1000;

export type KeptDocument = Readonly<{
  client: Client;
  document: ClientDocument;
  /** In milliseconds, by the clock of the store. */
  believedUntil: number;
  /** A token was issued to the client. */
  isUsed: boolean;
  /** Since when its host refuses it, in milliseconds. */
  refusedAt?: number;
}>;

/** As it stands in the store, with the version of its form. */
type Stored = Pick<ClientDocument, 'contentType'> &
  Omit<KeptDocument, 'client' | 'document'> & { readonly body: string; readonly v: number };

export type KeptDocumentsParts = Pick<App, 'store' | 'clock' | 'hash' | 'onDamaged' | 'tombstoneSeconds'> & {
  readonly vet: (document: ClientDocument) => VettedDocument;
};

/** Each method but `believed` throws StoreUnavailable. */
export function createKeptDocuments(parts: KeptDocumentsParts) {
  const { store, clock, vet } = parts;
  // Not by request: what is fetched belongs to none.
  const { records } = store;
  const copies = new Remembered<KeptDocument>(MOST_KNOWN);
  const readStored = createReadRecord(parts.onDamaged, KIND, 'body');
  const keyOf = (clientId: string) => parts.hash(`client document:${clientId}`);

  async function read(clientId: string): Promise<KeptDocument | undefined> {
    const record = await records.find(KIND, keyOf(clientId));
    const form = record && readStored(record);
    if (!form) return undefined;
    const { v: _version, body, contentType, ...kept } = form as StoredForm & Stored;
    const document = { clientId, contentType, body: Buffer.from(body) };
    // Again: the configuration may have changed.
    const vetted = vet(document);
    return 'client' in vetted ? { ...kept, client: vetted.client, document } : undefined;
  }

  /** Without asking the store. */
  function believed(clientId: string): KeptDocument | undefined {
    const copy = copies.get(clientId);
    return copy && clock.now() < copy.believedUntil ? copy : undefined;
  }

  return {
    believed,
    async find(clientId: string): Promise<KeptDocument | undefined> {
      const kept = believed(clientId) ?? (await read(clientId));
      if (kept) copies.add(clientId, kept);
      else copies.delete(clientId);
      return kept;
    },
    async save(kept: KeptDocument): Promise<void> {
      const { document, client: _vetted, ...rest } = kept;
      const { clientId, contentType, body } = document;
      const { believedUntil, isUsed } = rest;
      // It was vetted, so it is UTF-8.
      const stored: Stored = { v: FORM_VERSION, body: Buffer.from(body).toString(), contentType, ...rest };
      const graceSeconds = Math.ceil((believedUntil + GRACE_MS - clock.now()) / 1000);
      await records.save({
        kind: KIND,
        key: keyOf(clientId),
        payload: JSON.stringify(stored),
        // One in use for as long as a token may live that was issued to its client.
        ttlSeconds: Math.max(1, graceSeconds, isUsed ? parts.tombstoneSeconds : 0),
      });
      copies.add(clientId, kept);
    },
    async remove(clientId: string): Promise<void> {
      copies.delete(clientId);
      await records.destroy(KIND, keyOf(clientId));
    },
  };
}
