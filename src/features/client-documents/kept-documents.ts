// Keeps accepted documents in the store, so that every process knows their clients. A process's own copies are only a cache, for
// as long as a document is trusted.
import type { Client } from '../../config/config.ts';
import { Remembered } from '../../limits/bounded-map.ts';
import type { App } from '../../oidc/app.ts';
import { createReadRecord, FORM_VERSION, type StoredForm } from '../../store/form.ts';
import type { ClientDocument, VettedDocument } from './vet.ts';

const KIND = 'ClientDocument';
/** How long a document that is no longer trusted may be used while its host doesn't answer. */
export const GRACE_MS = 24 * 60 * 60 * 1000;

/** Maximum number of documents that a process remembers. A document has some kilobytes at most. */
export const MOST_KNOWN = 1000;

export type KeptDocument = Readonly<{
  client: Client;
  document: ClientDocument;
  /** In milliseconds, by the store's clock. */
  trustedUntil: number;
  /** A token was issued to the client. */
  isUsed: boolean;
  /** Since when the document is rejected, in milliseconds. */
  refusedAt?: number;
}>;

type Stored = Pick<ClientDocument, 'contentType'> &
  Omit<KeptDocument, 'client' | 'document' | 'trustedUntil'> & {
    readonly body: string;
    readonly v: number;
    /** `trustedUntil`, by the name that the first version gave it. */
    readonly believedUntil: number;
  };

export type KeptDocumentsParts = Pick<App, 'store' | 'clock' | 'hash' | 'onDamaged' | 'tombstoneSeconds'> & {
  readonly vet: (document: ClientDocument) => VettedDocument;
};

/** All methods except `findTrusted` throw StoreUnavailable. */
export function createKeptDocuments(parts: KeptDocumentsParts) {
  const { store, clock, vet } = parts;
  // Not the records of a request, because a document belongs to none.
  const { records } = store;
  const copies = new Remembered<KeptDocument>(MOST_KNOWN);
  const readStored = createReadRecord(parts.onDamaged, KIND, 'body');
  const keyOf = (clientId: string) => parts.hash(`client document:${clientId}`);

  async function read(clientId: string): Promise<KeptDocument | undefined> {
    const record = await records.find(KIND, keyOf(clientId));
    const form = record && readStored(record);
    if (!form) return undefined;
    const { v: _version, body, contentType, believedUntil, ...kept } = form as StoredForm & Stored;
    const document = { clientId, contentType, body: Buffer.from(body) };
    // Checked again, because the configuration may have changed.
    const vetted = vet(document);
    return 'client' in vetted
      ? { ...kept, trustedUntil: believedUntil, client: vetted.client, document }
      : undefined;
  }

  /** Returns a trusted copy without asking the store. */
  function findTrusted(clientId: string): KeptDocument | undefined {
    const copy = copies.get(clientId);
    return copy && clock.now() < copy.trustedUntil ? copy : undefined;
  }

  return {
    findTrusted,
    async find(clientId: string): Promise<KeptDocument | undefined> {
      const kept = findTrusted(clientId) ?? (await read(clientId));
      if (kept) copies.set(clientId, kept);
      else copies.delete(clientId);
      return kept;
    },
    async save(kept: KeptDocument): Promise<void> {
      const { document, client: _vetted, trustedUntil, ...rest } = kept;
      const { clientId, contentType, body } = document;
      // It was checked, so it is UTF-8.
      const text = Buffer.from(body).toString();
      const stored: Stored = {
        v: FORM_VERSION,
        body: text,
        contentType,
        believedUntil: trustedUntil,
        ...rest,
      };
      const graceSeconds = Math.ceil((trustedUntil + GRACE_MS - clock.now()) / 1000);
      await records.save({
        kind: KIND,
        key: keyOf(clientId),
        payload: JSON.stringify(stored),
        // A document in use is kept for as long as a token of its client may live.
        ttlSeconds: Math.max(1, graceSeconds, rest.isUsed ? parts.tombstoneSeconds : 0),
      });
      copies.set(clientId, kept);
    },
    async remove(clientId: string): Promise<void> {
      copies.delete(clientId);
      await records.destroy(KIND, keyOf(clientId));
    },
  };
}
