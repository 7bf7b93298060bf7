// When each client secret was last right, so that an old one can be removed with confidence. Owns the note and its
// writing in the background: at most once a minute for a secret, never on a request's path.
import type { Client, ClientSecret } from '../config/config.ts';
import { secretId } from '../config/secret-id.ts';
import type { Clock, DocumentStore } from '../store/store.ts';

const COLLECTION = 'secret-uses';
const FLUSH_EVERY_MS = 60_000;

export interface SecretUses {
  readonly note: (client: Client, secret: ClientSecret) => void;
  /** Writes what was noted. Never rejects: what could not be written is tried again with the next turn. */
  flush(): Promise<void>;
  stop(): Promise<void>;
}

export function createSecretUses(documents: DocumentStore, now: Clock): SecretUses {
  let noted = new Map<string, number>();
  const timer = setInterval(() => void flush(), FLUSH_EVERY_MS).unref();

  async function write(id: string, at: number): Promise<void> {
    const stored = await documents.get(COLLECTION, id);
    if (stored !== undefined && Number(stored.value) >= at) return;
    // Lost the race: another process wrote as fresh a time.
    await documents.put(COLLECTION, id, String(at), stored?.version ?? 0);
  }

  async function flush(): Promise<void> {
    const uses = noted;
    noted = new Map();
    for (const [id, at] of uses) {
      try {
        await write(id, at);
      } catch {
        if (!noted.has(id)) noted.set(id, at);
      }
    }
  }

  return {
    note(client, secret) {
      noted.set(useId(client.clientId, secretId(secret)), Math.floor(now() / 1000));
    },
    flush,
    async stop() {
      clearInterval(timer);
      await flush();
    },
  };
}

/** Epoch seconds of the last use, for `postern client list`. */
export async function readSecretUses(
  documents: DocumentStore,
): Promise<(clientId: string, secretId: string) => number | undefined> {
  const uses = new Map((await documents.list(COLLECTION)).map(({ id, value }) => [id, Number(value)]));
  return (clientId, secret) => uses.get(useId(clientId, secret));
}

function useId(clientId: string, secret: string): string {
  return JSON.stringify([clientId, secret]);
}
