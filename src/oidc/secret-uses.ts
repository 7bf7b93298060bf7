// Records when each client secret was last used, so that an old one can be removed safely. Writes in the background: the first use within a
// minute, later ones when the stored time is ten minutes old, so that busy clients don't keep the store busy.
import type { Client, ClientSecret } from '../config/config.ts';
import { secretId } from '../config/secret-strength.ts';
import { changeDocument } from '../store/documents.ts';
import { parseForm, type StoredForm } from '../store/form.ts';
import type { Clock, DocumentStore } from '../store/store.ts';

const COLLECTION = 'secret-uses';
const WHAT = 'the last use of a secret';
const FLUSH_EVERY_MS = 60_000;
const STALE_SECONDS = 600;
/** Writes at once, as one commit in LMDB or one round trip to Redis. */
const AT_ONCE = 100;

/** `at` and `writtenAt` in epoch seconds. */
type Use = { readonly clientId: string; readonly id: string; at: number; writtenAt: number };

export function createSecretUses(documents: DocumentStore, now: Clock) {
  const uses = new Map<string, Use>();
  /** Avoids computing the hash that is a secret's id for each request. */
  const useOf = new WeakMap<ClientSecret, Use>();
  const timer = setInterval(() => void flush(), FLUSH_EVERY_MS).unref();

  function findUse({ clientId }: Client, secret: ClientSecret): Use {
    const id = secretId(secret);
    const key = useId(clientId, id);
    const use = uses.get(key) ?? { clientId, id, at: 0, writtenAt: 0 };
    uses.set(key, use);
    useOf.set(secret, use);
    return use;
  }

  async function write(use: Use): Promise<void> {
    const { clientId, id, at } = use;
    const place = { collection: COLLECTION, id: useId(clientId, id), what: WHAT };
    await changeDocument(documents, place, (form) => ((usedAt(form) ?? 0) < at ? { at } : undefined));
    use.writtenAt = at;
  }

  /** Writes uses that are `staleSeconds` newer than the stored time. Never rejects: the next flush repeats a failed write. */
  async function flush(staleSeconds = STALE_SECONDS): Promise<void> {
    const isStale = ({ at, writtenAt }: Use) => at !== writtenAt && at - writtenAt >= staleSeconds;
    const stale = [...uses.values()].filter(isStale);
    while (stale.length > 0) await Promise.allSettled(stale.splice(0, AT_ONCE).map(write));
  }

  return {
    note: (client: Client, secret: ClientSecret): void => {
      const use = useOf.get(secret) ?? findUse(client, secret);
      use.at = Math.floor(now() / 1000);
    },
    flush,
    /** Writes all uses. */
    async stop(): Promise<void> {
      clearInterval(timer);
      await flush(0);
    },
  };
}

/** When a secret last authenticated its client, in epoch seconds; undefined when that isn't known. */
export type LastUses = (clientId: string, secretId: string) => number | undefined;

/** For `postern client list`. */
export async function readSecretUses(documents: DocumentStore): Promise<LastUses> {
  const stored = await documents.list(COLLECTION);
  const uses = new Map(stored.map(({ id, value }) => [id, usedAt(parseForm(value, WHAT))]));
  return (clientId, secret) => uses.get(useId(clientId, secret));
}

const usedAt = ({ at }: StoredForm): number | undefined => (typeof at === 'number' ? at : undefined);

const useId = (clientId: string, secret: string) => JSON.stringify([clientId, secret]);
