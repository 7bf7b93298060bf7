// Fetches a client's document from its host, and interprets the response.
import type { IncomingHttpHeaders } from 'node:http';
import type { Client } from '../../config/config.ts';
import { type Outgoing, type OutgoingFault, OutgoingRefused } from '../../outgoing/guard.ts';
import { type ClientDocument, MOST_DOCUMENT_BYTES, type VettedDocument } from './vet.ts';

type FetchedDocument =
  | Readonly<{ client: Client; document: ClientDocument; trustedSeconds: number }>
  /** There is no document, or it is rejected. `hasFailed`: its host gave no answer, but may soon. */
  | Readonly<{ refused: string; hasFailed?: boolean }>;

type FetchDocumentParts = Readonly<{
  outgoing: Outgoing;
  vet: (document: ClientDocument) => VettedDocument;
}>;

const DEADLINE_MS = 2000;
/** Faults of requests that may not be sent, and of responses that may not be read. */
const REFUSALS: ReadonlySet<OutgoingFault> = new Set<OutgoingFault>(['address', 'url', 'size', 'encoding']);
const isFailure = (status: number) => status >= 500 || status === 408 || status === 429;

export async function fetchDocument(parts: FetchDocumentParts, clientId: string): Promise<FetchedDocument> {
  try {
    return await ask(parts, clientId);
  } catch (error) {
    if (!(error instanceof OutgoingRefused)) throw error;
    return { refused: error.message, hasFailed: !REFUSALS.has(error.reason) };
  }
}

async function ask({ outgoing, vet }: FetchDocumentParts, clientId: string): Promise<FetchedDocument> {
  const { status, headers, body } = await outgoing.request(clientId, {
    headers: { Accept: 'application/json' },
    deadlineMs: DEADLINE_MS,
    maxBytes: MOST_DOCUMENT_BYTES,
    // A proxy's 503 page may be long, and has no other information.
    readsBody: (code) => code === 200,
  });
  if (status !== 200) return { refused: `its host answered ${status}`, hasFailed: isFailure(status) };
  const document = { clientId, contentType: headers['content-type'], body };
  const vetted = vet(document);
  if ('refused' in vetted) return vetted;
  return { client: vetted.client, document, trustedSeconds: secondsOfTrust(headers) };
}

/** Keeps publishers from causing a fetch at each sign-in, and from keeping an old document in use forever. */
const [MIN_SECONDS, MAX_SECONDS] = [5 * 60, 24 * 60 * 60];

/** Seconds of trust by RFC 9111 §5.2.2, within these bounds. */
export function secondsOfTrust({ 'cache-control': control = '' }: IncomingHttpHeaders): number {
  const directives = control.toLowerCase().split(/\s*,\s*/);
  const isOnce = directives.some((one) => one === 'no-store' || /^no-cache(=|$)/.test(one));
  const maxAge = directives.map((one) => /^max-age="?(\d+)"?$/.exec(one)?.[1]).find(Boolean) ?? '0';
  return Math.min(MAX_SECONDS, Math.max(MIN_SECONDS, isOnce ? 0 : Number(maxAge)));
}
