// How often documents of clients are fetched. Anybody can name one, so this protects the hosts that are asked, the store and the way out.
import type { Rate } from '../config/config.ts';
import type { Attempts, LimitRefusal } from './attempts.ts';
import type { Quota } from './counters.ts';

/** Documents that nobody uses yet. The apps that people sign in with are few, and each is fetched once. */
const FIRST = {
  'documents.address': { limit: 5, windowSeconds: 60 },
  'documents.host': { limit: 10, windowSeconds: 60 },
  'documents.all': { limit: 30, windowSeconds: 60 },
} satisfies Record<string, Rate>;
/** Of one document, over all processes: each asks a host that doesn't answer once in half a minute. */
const RENEWAL = { 'documents.renewal': { limit: 10, windowSeconds: 60 } } satisfies Record<string, Rate>;

export const DOCUMENT_LIMITS: readonly string[] = [...Object.keys(FIRST), ...Object.keys(RENEWAL)];

type Asked = { readonly address: string; readonly client_id?: string };

export interface DocumentLimits {
  /**
   * Counts one fetch of a document that nobody uses yet, for the host that is asked and for the caller; throws TooManyRequests, also
   * with dry_run: the limit is for others.
   */
  takeDocument(host: string, address: string): Promise<void>;
  /** The same for a document whose client has tokens, or that the file names itself: it is counted alone, whatever strangers ask for. */
  takeRenewal(clientId: string): Promise<void>;
}

export function createDocumentLimits(
  attempts: Pick<Attempts, 'begin'>,
  refuse: (refusal: LimitRefusal, request: Asked) => never,
): DocumentLimits {
  async function take(quotas: readonly Quota[], request: Asked): Promise<void> {
    const { refused } = await attempts.begin(quotas);
    if (refused !== undefined) refuse(refused, request);
  }

  return {
    async takeDocument(host, address) {
      const subjects = { 'documents.address': address, 'documents.host': host, 'documents.all': '' };
      const quotaOf = (name: keyof typeof FIRST) => ({ name, rate: FIRST[name], subject: subjects[name] });
      const quotas = (['documents.address', 'documents.host', 'documents.all'] as const).map(quotaOf);
      await take(quotas, { address });
    },
    async takeRenewal(clientId) {
      const quota = { name: 'documents.renewal', rate: RENEWAL['documents.renewal'], subject: clientId };
      await take([quota], { address: '', client_id: clientId });
    },
  };
}
