// Clients without registration, with metadata documents (draft-ietf-oauth-client-id-metadata-document-02) that are fetched when a sign-in
// begins, and trusted for a limited time.
import type { Client } from '../../config/config.ts';
import { toClient } from '../../config/resolve.ts';
import { clientSchema } from '../../config/schema-client.ts';
import { Remembered } from '../../limits/bounded-map.ts';
import { TooManyRequests } from '../../limits/limits.ts';
import { networkOf } from '../../limits/network.ts';
import type { App } from '../../oidc/app.ts';
import { ClientUnavailable } from '../../oidc/clients.ts';
import { isListedDocument } from './feature.ts';
import { fetchDocument } from './fetch-document.ts';
import {
  createKeptDocuments,
  GRACE_MS,
  MOST_KNOWN,
  type KeptDocument,
  type KeptDocumentsParts,
} from './kept-documents.ts';

/** How long a rejected document isn't fetched again. */
const REFUSED_MS = 60_000;
/** The same for a host that didn't answer. Shorter, because it may be back soon and users wait. */
const FAILED_MS = 30_000;
/** A document in use ends if it is still rejected this long after the first rejection: a brief mistake signs no user out. */
const CONFIRMED_MS = 300_000;

/** Answered with 503. */
const documentUnavailable = (reason: string, waitMs: number) =>
  new ClientUnavailable(`can't get the client's document: ${reason}`, 'client_document', waitMs);

/**
 * Why the client is loaded. `begin`: a new authorization, which requires a trusted document; only it fetches an unknown one. `continue`: a
 * request after an authorization; while the host doesn't answer, the last good document is valid for another day. `end`: a revocation or a
 * sign-out, which must not depend on the document.
 */
export type DocumentUse = 'begin' | 'continue' | 'end';

/** `browser` resolves the limit subject of a known user's browser, and undefined for a stranger's. */
export type Asker = Readonly<{
  address: string;
  browser?: (() => Promise<string | undefined>) | undefined;
}>;

type ClientDocumentsParts = KeptDocumentsParts &
  Pick<App, 'outgoing' | 'limits' | 'audit' | 'log'> & {
    readonly hosts: readonly string[];
  };

export function createClientDocuments(parts: ClientDocumentsParts) {
  const { hosts, clock } = parts;
  const kept = createKeptDocuments(parts);
  const renew = createRenewal(parts, kept);
  const isListed = (clientId: string) => isListedDocument(clientId, hosts);
  const isGood = ({ trustedUntil }: KeptDocument) => clock.now() < trustedUntil + GRACE_MS;

  return {
    isListed,
    /**
     * Resolves the client, or undefined if it isn't listed, has no document or a rejected one. Throws ClientUnavailable, TooManyRequests
     * and StoreUnavailable, which the application answers.
     */
    async load(clientId: string, use: DocumentUse, asker: Asker): Promise<Client | undefined> {
      if (!isListed(clientId)) return undefined;
      const known = await kept.find(clientId);
      if (use === 'end') return known && isGood(known) ? known.client : endingClient(clientId);
      if (known && clock.now() < known.trustedUntil) return known.client;
      if (use === 'begin') return toBegin(await renew(clientId, known, asker));
      if (!known) return undefined;
      const renewed = await renew(clientId, known, asker).catch((error: unknown) => {
        if (isGood(known)) return known;
        throw error;
      });
      return renewed?.client;
    },
    /** Marks the document as used by a token: it is kept for a token's lifetime, and its renewal has a separate limit. */
    async keep(clientId: string): Promise<void> {
      const known = await kept.find(clientId);
      if (known?.isUsed === false) await kept.save({ ...known, isUsed: true });
    },
  };
}

/** No new fetch before `until`. Without `failure`, the document was rejected. `left`: the document that its client still uses. */
type Pause = Readonly<{ until: number; failure?: string; left?: Before }>;

/** The document that is no longer trusted. */
type Before = KeptDocument | undefined;

function createRenewal(parts: ClientDocumentsParts, kept: ReturnType<typeof createKeptDocuments>) {
  const { outgoing, vet, clock } = parts;
  const count = createCount(parts);
  const report = createReport(parts);
  const pauses = new Remembered<Pause>(MOST_KNOWN);
  const flights = new Map<string, Promise<Before>>();

  async function fetchAndKeep(clientId: string, before: Before): Promise<Before> {
    const fetched = await fetchDocument({ outgoing, vet }, clientId);
    const at = clock.now();
    if ('client' in fetched) {
      report(clientId, before);
      const { trustedSeconds, ...vetted } = fetched;
      const isUsed = before?.isUsed === true;
      const taken = { ...vetted, trustedUntil: at + trustedSeconds * 1000, isUsed };
      await kept.save(taken);
      return taken;
    }
    const { refused: reason, hasFailed } = fetched;
    report(clientId, before, reason, hasFailed);
    if (hasFailed) {
      pauses.set(clientId, { until: at + FAILED_MS, failure: reason });
      throw documentUnavailable(reason, FAILED_MS);
    }
    const refusedAt = before?.refusedAt ?? at;
    const goesOn = before?.isUsed === true && at < refusedAt + CONFIRMED_MS;
    const left = goesOn ? { ...before, refusedAt } : undefined;
    pauses.set(clientId, { until: at + REFUSED_MS, left });
    if (left) await kept.save(left);
    else if (before) await kept.remove(clientId);
    return left;
  }

  /** Returns what is known without a fetch. Throws during the pause after a host didn't answer. */
  function remembered(clientId: string): { readonly known: Before } | undefined {
    const known = kept.findTrusted(clientId);
    if (known) return { known };
    const pause = pauses.get(clientId);
    if (!pause || pause.until <= clock.now()) return undefined;
    if (pause.failure === undefined) return { known: pause.left };
    throw documentUnavailable(pause.failure, pause.until - clock.now());
  }

  async function begin(clientId: string, before: Before, asker: Asker): Promise<Before> {
    const takeBack = await count(clientId, before, asker);
    const fetched = await fetchAndKeep(clientId, before);
    if (toBegin(fetched)) takeBack();
    return fetched;
  }

  /** Resolves the new document, or what remains of a rejected one. Runs one fetch per URL at a time; only its first caller is counted. */
  return async function renew(clientId: string, before: Before, asker: Asker): Promise<Before> {
    const known = remembered(clientId);
    if (known) return known.known;
    const begun = flights.get(clientId);
    if (!begun) {
      const flight = begin(clientId, before, asker).finally(() => flights.delete(clientId));
      flights.set(clientId, flight);
      return flight;
    }
    return begun.catch((error: unknown) => {
      // The limit was another caller's.
      if (error instanceof TooManyRequests) return renew(clientId, before, asker);
      throw error;
    });
  };
}

function createCount({ hosts, limits }: ClientDocumentsParts) {
  const { quotaOf, takeExactly } = limits;

  /** Counts a stranger's fetch of a document that isn't in use. */
  async function countStranger(host: string, address: string): Promise<() => void> {
    const { used, takeBack } = await takeExactly({ address }, [
      quotaOf('documents.network', networkOf(address)),
    ]);
    const again = used[0] === 1 ? [] : [quotaOf('documents.refused', host)];
    const quotas = [quotaOf('documents.address', address), ...again, quotaOf('documents.host', host)];
    await takeExactly({ address }, quotas).catch((error: unknown) => {
      takeBack();
      throw error;
    });
    return takeBack;
  }

  /** Counts a fetch. Resolves the function that takes it back for a good document. */
  return async function count(
    clientId: string,
    before: Before,
    { address, browser }: Asker,
  ): Promise<() => void> {
    const isExpected = before?.isUsed === true || hosts.includes(clientId.slice('https://'.length));
    const subject = isExpected ? clientId : await browser?.();
    if (subject === undefined) return countStranger(new URL(clientId).host, address);
    const request = { address, ...(isExpected && { client_id: clientId }) };
    return (await takeExactly(request, [quotaOf('documents.renewal', subject)])).takeBack;
  };
}

const createReport = ({ audit, log }: ClientDocumentsParts) =>
  function report(clientId: string, before: Before, reason?: string, hasFailed = false): void {
    const outcome = reason === undefined ? 'success' : 'failure';
    const action = before ? 'renewal' : 'first';
    audit.record('client_document', outcome, { client_id: clientId, action, reason });
    const level = hasFailed || before?.isUsed === true ? 'warn' : 'info';
    if (reason !== undefined) log[level]({ clientId, reason }, "a client's document was not taken");
  };

/** A rejected document can't begin an authorization, but continues existing ones. */
const toBegin = (document: Before) => (document?.refusedAt === undefined ? document?.client : undefined);

/** A client that can end its tokens and sessions, but request nothing. */
function endingClient(clientId: string): Client {
  const said = { token_endpoint_auth_method: 'none', grant_types: ['refresh_token'], scope: 'openid' };
  return { ...toClient(clientSchema.parse({ client_id: clientId, ...said }), []), scopes: [] };
}
