// Keeps the ring as one document. Owns reading it with suspicion and changing it by compare-and-set; what a change is comes
// from ring-steps.ts and emergency.ts, through ring-actions.ts.
import type { Clock, DocumentStore } from '../store/store.ts';
import type { KeyMaterial } from './generate-key.ts';
import type { KeySet } from './key-set.ts';
import { createRing, type NewKey, type Ring, type RingKey } from './keyring.ts';
import { decodeRing, encodeRing, KeyStoreError, type DecodedRing } from './ring-document.ts';
import type { Timing } from './timing.ts';
import { toKeySet, toNewKey } from './to-key-set.ts';
import type { Vault } from './vault.ts';

export const KEYS_COLLECTION = 'keys';
export const RING_ID = 'ring';
export const PEPPER_ID = 'pepper';

/** Only a crowd of writers that never pauses could lose this often. */
const MAX_ATTEMPTS = 50;

/** Named moments at which a test ends the process. */
export type Failpoint = 'generate' | 'persist' | 'publish' | 'activate' | 'retire' | 'remove';

export type KeyStoreOptions = {
  readonly documents: DocumentStore;
  readonly vault: Vault;
  readonly now: Clock;
  readonly timing: Timing;
  readonly generateKey: () => Promise<KeyMaterial>;
  readonly failpoint?: ((name: Failpoint) => Promise<void> | void) | undefined;
};

export interface KeyStore {
  readonly timing: Timing;
  /** The ring that is stored. Throws KeyStoreError: `rolled_back` when it is older than what this process has seen. */
  load(): Promise<Ring>;
  /**
   * For the start: makes the first ring of a new installation, else loads the ring and opens what signs. A new process
   * takes the ring that it finds, so that a backup can be put back. Throws KeyStoreError rather than make a second ring;
   * whoever calls this calls it before anything else of `keys` is stored.
   */
  ensure(): Promise<Ring>;
  /**
   * Stores what `change` makes of the ring; the same ring means no change. A lost race reads again and asks again.
   * Resolves with the ring that is then stored.
   */
  update(change: (ring: Ring) => Ring | Promise<Ring>): Promise<Ring>;
  /**
   * After the store lost its newest writes (a failover) or the whole ring: puts back the newest ring that this process has
   * read, one generation on. Throws KeyStoreError when this process knows none that is newer.
   */
  restore(): Promise<Ring>;
  /** A new key, sealed, not yet in any ring. */
  newKey(): Promise<NewKey>;
  seal(material: KeyMaterial): NewKey;
  /** The stored ring's checksum or a private part names an older encryption key. */
  needsRewrap(): Promise<boolean>;
  /** The ring at `at`, epoch milliseconds; without it, now. Throws KeyStoreError when no key can sign or a private part can't be opened. */
  toKeySet(ring: Ring, at?: number): KeySet;
}

export function createKeyStore(options: KeyStoreOptions): KeyStore {
  return new DocumentKeyStore(options);
}

type Read = DecodedRing & { readonly version: number };

class DocumentKeyStore implements KeyStore {
  readonly timing: Timing;
  readonly #options: KeyStoreOptions;
  /** The newest ring that was read or written here. */
  #newest: Ring | undefined;

  constructor(options: KeyStoreOptions) {
    this.timing = options.timing;
    this.#options = options;
  }

  async load(): Promise<Ring> {
    return (await this.#readExisting()).ring;
  }

  async ensure(): Promise<Ring> {
    const { documents } = this.#options;
    // Asked before the ring: the pepper is stored after it, so a pepper without a ring is a loss, not a first start.
    const hasPepper = (await documents.get(KEYS_COLLECTION, PEPPER_ID)) !== undefined;
    const found = await this.#read();
    const ring = found?.ring ?? (await this.#createFirst(hasPepper));
    this.toKeySet(ring);
    return ring;
  }

  async update(change: (ring: Ring) => Ring | Promise<Ring>): Promise<Ring> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const { ring, version } = await this.#readExisting();
      const next = await change(ring);
      if (next === ring) return ring;
      const stored = { ...next, generation: ring.generation + 1 };
      if (await this.#write(stored, ring, version)) return stored;
    }
    throw new KeyStoreError('busy', 'the key ring changed too often while it should be changed');
  }

  async restore(): Promise<Ring> {
    const { documents, vault } = this.#options;
    const document = await documents.get(KEYS_COLLECTION, RING_ID);
    const stored = document && decodeRing(document.value, document.version, vault).ring;
    const newest = this.#newest;
    if (newest === undefined || (stored !== undefined && stored.generation >= newest.generation)) {
      return await this.load();
    }
    const ring = { ...newest, generation: newest.generation + 1 };
    return (await this.#write(ring, newest, document?.version ?? 0)) ? ring : await this.load();
  }

  async newKey(): Promise<NewKey> {
    const key = this.seal(await this.#options.generateKey());
    await this.#options.failpoint?.('generate');
    return key;
  }

  seal(material: KeyMaterial): NewKey {
    return toNewKey(material, this.#options.now(), this.#options.vault);
  }

  async needsRewrap(): Promise<boolean> {
    const { vault } = this.#options;
    const { ring, needsRewrap } = await this.#readExisting();
    return needsRewrap || ring.keys.some(({ sealed }) => sealed !== undefined && vault.needsRewrap(sealed));
  }

  toKeySet(ring: Ring, at = this.#options.now()): KeySet {
    return toKeySet(ring, at, this.#options.vault);
  }

  async #createFirst(hasPepper: boolean): Promise<Ring> {
    if (hasPepper || this.#newest !== undefined) {
      throw new KeyStoreError('missing', `${GONE}: restore it, a new one is never made in its place`);
    }
    const keys = { active: await this.newKey(), reserve: await this.newKey() };
    const ring = createRing(keys, this.#options.now(), this.timing);
    return (await this.#write(ring, undefined, 0)) ? ring : await this.load();
  }

  async #readExisting(): Promise<Read> {
    const found = await this.#read();
    if (found === undefined) throw new KeyStoreError('missing', GONE);
    return found;
  }

  async #read(): Promise<Read | undefined> {
    // Asked first: a write that ends while this read is under way must not make it look like a rollback.
    const highest = this.#newest?.generation ?? 0;
    const document = await this.#options.documents.get(KEYS_COLLECTION, RING_ID);
    if (document === undefined) return undefined;
    const decoded = decodeRing(document.value, document.version, this.#options.vault);
    const { generation } = decoded.ring;
    if (generation < highest || !decoded.isInPlace) {
      const seen = generation < highest ? `: generation ${highest} was seen, this is ${generation}` : '';
      throw new KeyStoreError('rolled_back', `an older key ring was put back${seen}`);
    }
    this.#remember(decoded.ring);
    return { ...decoded, version: document.version };
  }

  /** False: somebody else was first. */
  async #write(ring: Ring, before: Ring | undefined, version: number): Promise<boolean> {
    const { documents, vault, failpoint } = this.#options;
    const text = encodeRing(ring, version + 1, vault);
    if (!(await documents.put(KEYS_COLLECTION, RING_ID, text, version))) return false;
    await failpoint?.('persist');
    this.#remember(ring);
    for (const name of failpointsBetween(before, ring)) await failpoint?.(name);
    return true;
  }

  #remember(ring: Ring): void {
    if (ring.generation >= (this.#newest?.generation ?? 0)) this.#newest = ring;
  }
}

const GONE = 'the key ring is gone from the store';

/** Which moments of a key's life lie between two rings. */
function failpointsBetween(before: Ring | undefined, after: Ring): readonly Failpoint[] {
  const known = new Map((before?.keys ?? []).map((key) => [key.kid, key]));
  const isChanged = (differs: (key: RingKey, old: RingKey | undefined) => boolean): boolean =>
    after.keys.some((key) => differs(key, known.get(key.kid)));
  const passed: Failpoint[] = [];
  if (isChanged((_key, old) => old === undefined)) passed.push('publish');
  if (isChanged((key, old) => key.activateAt !== old?.activateAt)) passed.push('activate');
  if (isChanged((key, old) => key.sealed === undefined && old?.sealed !== undefined)) passed.push('retire');
  if (after.gone.length > (before?.gone.length ?? 0)) passed.push('remove');
  return passed;
}
