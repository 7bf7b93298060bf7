// Asks the host of a metadata document for it.
import { type Outgoing, type OutgoingAnswer, OutgoingRefused } from '../outgoing/guard.ts';
import { type ClientDocument, MOST_DOCUMENT_BYTES } from './vet.ts';

/** `refused`: there is none, or none that may be read. `failed`: the host may have another answer in a moment. */
export type Published =
  | { readonly document: ClientDocument; readonly headers: OutgoingAnswer['headers'] }
  | { readonly refused: string }
  | { readonly failed: string };

/** Answers that say nothing about the document. */
const isNoAnswer = (status: number): boolean => status >= 500 || status === 408 || status === 429;
/** Where nothing may be asked, or what came may not be read. */
const REFUSALS: ReadonlySet<string> = new Set(['address', 'url', 'size', 'encoding']);

export async function askForDocument(outgoing: Outgoing, clientId: string): Promise<Published> {
  try {
    const { status, headers, body } = await outgoing.get(clientId, {
      maxBytes: MOST_DOCUMENT_BYTES,
      accept: 'application/json',
    });
    if (isNoAnswer(status)) return { failed: `its host answered ${status}` };
    // Draft §5: also a redirect.
    if (status !== 200) return { refused: `its host answered ${status}` };
    return { document: { clientId, contentType: headers['content-type'], body }, headers };
  } catch (error) {
    if (!(error instanceof OutgoingRefused)) throw error;
    return REFUSALS.has(error.reason) ? { refused: error.message } : { failed: error.message };
  }
}
