// Clients that nobody registered, by their metadata documents (draft-ietf-oauth-client-id-metadata-document-02): fetched where a sign-in
// begins, and believed for a while.
import type { Client } from '../config/config.ts';
import { isListedDocument } from '../config/client-id-url.ts';
import { Remembered } from '../limits/bounded-map.ts';
import type { Limits } from '../limits/limits.ts';
import type { Audit } from '../observability/audit.ts';
import type { Log } from '../observability/log.ts';
import type { Outgoing } from '../outgoing/guard.ts';
import { fetchDocument } from './fetch-document.ts';
import {
  createKeptDocuments,
  GRACE_MS,
  MOST_KNOWN,
  type KeptDocument,
  type KeptDocumentsParts,
} from './kept-documents.ts';

/** For how long a document that was refused isn't asked for again. */
const REFUSED_MS = 60_000;
/** The same for a host that didn't answer: it may be back soon, and users wait. */
const FAILED_MS = 30_000;

/** The document can't be had right now: the answer is 503. The message says why, for operators. */
export class DocumentUnavailable extends Error {
  readonly retryAfterSeconds: number;

  constructor(reason: string, waitMs: number) {
    super(`can't get the client's document: ${reason}`);
    this.name = 'DocumentUnavailable';
    this.retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000));
  }
}

/**
 * What the client is needed for. `begin`: a new authorization, which wants a document that is still believed; only there is one fetched
 * that isn't known. `continue`: what came of one, for which the last good document does for a day while its host doesn't answer. `end`:
 * a revocation or a sign-out, which must not depend on the document.
 */
export type DocumentUse = 'begin' | 'continue' | 'end';

export type ClientDocuments = ReturnType<typeof createClientDocuments>;

type ClientDocumentsParts = KeptDocumentsParts & {
  readonly outgoing: Outgoing;
  /** `client_documents.hosts` */
  readonly hosts: readonly string[];
  readonly limits: Limits;
  readonly audit: Audit;
  readonly log: Log;
};

export function createClientDocuments(parts: ClientDocumentsParts) {
  const { hosts, clock } = parts;
  const kept = createKeptDocuments(parts);
  const renew = createRenewal(parts, kept);
  /** Whether the configuration lists this URL. */
  const isListed = (clientId: string) => isListedDocument(clientId, hosts);
  const isGood = ({ believedUntil }: KeptDocument) => clock.now() < believedUntil + GRACE_MS;

  return {
    isListed,
    /**
     * The client, or undefined where it isn't listed, has no document or a refused one. Throws what the host answers: DocumentUnavailable,
     * TooManyRequests, StoreUnavailable.
     */
    async load(clientId: string, use: DocumentUse, address: string): Promise<Client | undefined> {
      if (!isListed(clientId)) return undefined;
      const known = await kept.find(clientId);
      if (use === 'end') return known && isGood(known) ? known.client : endingClient(clientId);
      if (known && clock.now() < known.believedUntil) return known.client;
      if (use === 'begin') return (await renew(clientId, known, address))?.client;
      if (!known) return undefined;
      const renewed = await renew(clientId, known, address).catch((error: unknown) => {
        if (isGood(known)) return known;
        throw error;
      });
      return renewed?.client;
    },
    /** A token was issued: kept for as long as one may live, and its renewal has a limit of its own. */
    async keep(clientId: string): Promise<void> {
      const known = await kept.find(clientId);
      if (known?.isUsed === false) await kept.save({ ...known, isUsed: true });
    },
  };
}

/** Not asked for again before `until`. Without `failure` it was refused. */
type Pause = { readonly until: number; readonly failure?: string };

/** `before`: the document that isn't believed any more. */
type Before = KeptDocument | undefined;

function createRenewal(parts: ClientDocumentsParts, kept: ReturnType<typeof createKeptDocuments>) {
  const { hosts, outgoing, vet, clock, limits, audit, log } = parts;
  const pauses = new Remembered<Pause>(MOST_KNOWN);
  const flights = new Map<string, ReturnType<typeof fetchAndKeep>>();

  async function fetchAndKeep(clientId: string, before: Before): Promise<KeptDocument | undefined> {
    const fetched = await fetchDocument({ outgoing, vet }, clientId);
    const at = clock.now();
    if ('client' in fetched) {
      report(clientId, before);
      const { client, document, believedSeconds } = fetched;
      const believedUntil = at + believedSeconds * 1000;
      const taken = { client, document, believedUntil, isUsed: before?.isUsed === true };
      await kept.save(taken);
      return taken;
    }
    if ('failed' in fetched) {
      report(clientId, before, fetched.failed);
      pauses.add(clientId, { until: at + FAILED_MS, failure: fetched.failed });
      throw new DocumentUnavailable(fetched.failed, FAILED_MS);
    }
    report(clientId, before, fetched.refused);
    pauses.add(clientId, { until: at + REFUSED_MS });
    if (before) await kept.remove(clientId);
    return undefined;
  }

  function report(clientId: string, before: Before, reason?: string): void {
    const action = before ? 'renewal' : 'first';
    const outcome = reason === undefined ? 'success' : 'failure';
    audit.record('client_document', outcome, { client_id: clientId, action, reason });
    if (reason !== undefined) log.info({ clientId, reason }, "a client's document was not taken");
  }

  /** What is known without asking the host. Throws while a host that didn't answer is left alone. */
  function remembered(clientId: string): { readonly known: KeptDocument | undefined } | undefined {
    const known = kept.believed(clientId);
    if (known) return { known };
    const pause = pauses.get(clientId);
    if (!pause || pause.until <= clock.now()) return undefined;
    if (pause.failure === undefined) return { known: undefined };
    throw new DocumentUnavailable(pause.failure, pause.until - clock.now());
  }

  /** The new document, or undefined where it is refused. One fetch of a URL at a time; only who begins it is counted. */
  return async function renew(clientId: string, before: Before, address: string) {
    if (!remembered(clientId) && !flights.has(clientId)) {
      const { host } = new URL(clientId);
      const isExpected = before?.isUsed === true || hosts.includes(clientId.slice('https://'.length));
      await (isExpected ? limits.takeRenewal(clientId) : limits.takeDocument(host, address));
    }
    // It may have been fetched while this request was counted.
    const meanwhile = remembered(clientId);
    if (meanwhile) return meanwhile.known;
    const flight =
      flights.get(clientId) ?? fetchAndKeep(clientId, before).finally(() => flights.delete(clientId));
    flights.set(clientId, flight);
    return flight;
  };
}

/** Enough to end what it has: it may ask for nothing. */
function endingClient(clientId: string): Client {
  return {
    clientId,
    applicationType: 'web',
    tokenEndpointAuthMethod: 'none',
    grantTypes: ['refresh_token'],
    responseModes: ['query'],
    scopes: [],
    redirectUris: [],
    postLogoutRedirectUris: [],
    secrets: [],
    rateLimits: {},
    consent: 'explicit',
    idTokenClaims: 'minimal',
    idTokenSignedResponseAlg: 'RS256',
    requirePkce: true,
  };
}
