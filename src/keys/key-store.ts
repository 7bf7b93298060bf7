// Keeps the ring as one document, and the pepper beside it. Reads them with suspicion and changes the ring by compare-and-set;
// what a change is comes from ring-steps.ts and emergency.ts, through ring-actions.ts.
import type { Clock, DocumentStore, StoredDocument } from '../store/store.ts';
import type { KeyMaterial } from './generate-key.ts';
import type { KeySet } from './key-set.ts';
import { createRing, type Installation, type NewKey, type Ring, type RingKey } from './keyring.ts';
import { newPepper, openPepper, pepperId, sealPepper } from './pepper.ts';
import {
  decodeRing,
  encodeRing,
  KEYS_COLLECTION,
  KeyStoreError,
  PEPPER_ID,
  RING_ID,
  type DecodedRing,
} from './ring-document.ts';
import type { Timing } from './timing.ts';
import { toKeySet, toNewKey } from './to-key-set.ts';
import type { Vault } from './vault.ts';

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
  /** Whose ring it must be. Absent: anybody's. */
  readonly issuer?: string | undefined;
  readonly failpoint?: ((name: Failpoint) => Promise<void> | void) | undefined;
};

export interface KeyStore {
  readonly timing: Timing;
  /** 32 bytes. Throws before `ensure`. */
  readonly pepper: Buffer;
  /** `ensure` found an empty store, and made ring and pepper. */
  readonly isNew: boolean;
  /**
   * The ring that is stored. Throws KeyStoreError: `rolled_back` when it is older than what this process has seen; after
   * `ensure` also `missing` and `foreign` when the pepper of this process isn't the one in the store.
   */
  load(): Promise<Ring>;
  /**
   * For the start: makes the first ring and the pepper of a new installation, else loads them and opens what signs. A new
   * process takes the ring that it finds, so that a backup can be put back. Throws KeyStoreError rather than make one of the
   * two beside the other.
   */
  ensure(): Promise<Ring>;
  /** Whether `ensure` would work, without a change: rejects as it would. */
  check(): Promise<void>;
  /**
   * Stores what `change` makes of the ring; the same ring means no change. A lost race reads again and asks again.
   * Resolves with the ring that is then stored.
   */
  update(change: (ring: Ring) => Ring | Promise<Ring>): Promise<Ring>;
  /**
   * After the store lost its newest writes (a failover), the ring or the pepper: puts back the newest ring that this process
   * has read, one generation on, at once with the pepper if that is gone. Throws KeyStoreError when this process knows none that
   * is newer, or another process has made a pepper meanwhile.
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
  #pepper: Buffer | undefined;
  #isNew = false;

  constructor(options: KeyStoreOptions) {
    this.timing = options.timing;
    this.#options = options;
  }

  async load(): Promise<Ring> {
    return (await this.#readExisting()).ring;
  }

  get pepper(): Buffer {
    if (this.#pepper === undefined) throw new Error('the keys have not been opened');
    return this.#pepper;
  }

  get isNew(): boolean {
    return this.#isNew;
  }

  async ensure(): Promise<Ring> {
    const found = await this.#open();
    if (found === undefined) return this.#createFirst();
    this.#pepper = found.pepper;
    return this.#claim(found.ring, found.pepper);
  }

  async check(): Promise<void> {
    await this.#open();
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
    const pepper = await this.#pepperDocument();
    this.#assertOwn(stored, pepper);
    const lost = pepper === undefined ? this.#pepper : undefined;
    const base = newerOf(stored, this.#newest);
    if (base === undefined || (base === stored && lost === undefined)) return await this.load();
    const ring = { ...base, generation: base.generation + 1 };
    return (await this.#write(ring, base, document?.version ?? 0, lost)) ? ring : await this.load();
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

  /** Undefined when there is neither ring nor pepper, and never was. */
  async #open(): Promise<{ readonly ring: Ring; readonly pepper: Buffer } | undefined> {
    // Asked before the ring: both are written at once, so that a ring which is found later always has one.
    const early = await this.#pepperDocument();
    const found = await this.#read();
    if (found === undefined) {
      if (early === undefined && this.#newest === undefined) return undefined;
      throw new KeyStoreError('missing', `${GONE}: ${PUT_BACK}`);
    }
    const { value } = early ?? (await this.#pepperDocument()) ?? {};
    if (value === undefined) throw new KeyStoreError('missing', `${PEPPER_GONE}: ${PUT_BACK}`);
    const { ring } = found;
    const pepper = openPepper(value, this.#options.vault);
    if (ring.installation !== undefined && ring.installation.pepper !== pepperId(pepper)) {
      throw new KeyStoreError('foreign', `the pepper in the store belongs to another key ring: ${PUT_BACK}`);
    }
    this.toKeySet(ring);
    return { ring, pepper };
  }

  async #createFirst(): Promise<Ring> {
    const pepper = newPepper();
    const keys = { active: await this.newKey(), reserve: await this.newKey() };
    const ring = {
      ...createRing(keys, this.#options.now(), this.timing),
      installation: this.#installation(pepper),
    };
    // Another process was first.
    if (!(await this.#write(ring, undefined, 0, pepper))) return this.ensure();
    this.#pepper = pepper;
    this.#isNew = true;
    return ring;
  }

  #installation(pepper: Buffer): Installation {
    return { pepper: pepperId(pepper), issuer: this.#options.issuer };
  }

  /** A ring of an earlier version doesn't say yet what it belongs to. */
  async #claim(ring: Ring, pepper: Buffer): Promise<Ring> {
    const isClaimed = ({ installation }: Ring) =>
      installation !== undefined && (installation.issuer !== undefined || this.#options.issuer === undefined);
    if (isClaimed(ring)) return ring;
    return this.update((current) =>
      isClaimed(current) ? current : { ...current, installation: this.#installation(pepper) },
    );
  }

  #pepperDocument(): Promise<StoredDocument | undefined> {
    return this.#options.documents.get(KEYS_COLLECTION, PEPPER_ID);
  }

  /** Throws KeyStoreError `foreign` when what is stored isn't this process's. */
  #assertOwn(ring: Ring | undefined, pepper: StoredDocument | undefined): void {
    const { issuer, vault } = this.#options;
    const { installation } = ring ?? {};
    if (issuer !== undefined && installation?.issuer !== undefined && installation.issuer !== issuer) {
      throw new KeyStoreError('foreign', otherIssuer(installation.issuer, issuer));
    }
    const own = this.#pepper;
    if (own === undefined) return;
    const isOther =
      (pepper !== undefined && !openPepper(pepper.value, vault).equals(own)) ||
      (installation !== undefined && installation.pepper !== pepperId(own));
    if (isOther) {
      throw new KeyStoreError(
        'foreign',
        'the store was emptied or replaced, and another node has made new keys in it: restart this node',
      );
    }
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
    const pepper = this.#pepper && (await this.#pepperDocument());
    this.#assertOwn(decoded.ring, pepper);
    if (this.#pepper !== undefined && pepper === undefined) throw new KeyStoreError('missing', PEPPER_GONE);
    const { generation } = decoded.ring;
    if (generation < highest || !decoded.isInPlace) {
      const seen = generation < highest ? `: generation ${highest} was seen, this is ${generation}` : '';
      throw new KeyStoreError('rolled_back', `an older key ring was put back${seen}`);
    }
    this.#remember(decoded.ring);
    return { ...decoded, version: document.version };
  }

  /** With `pepper`, which must not be stored yet, both or none. False: somebody else was first. */
  async #write(ring: Ring, before: Ring | undefined, version: number, pepper?: Buffer): Promise<boolean> {
    const { documents, vault, failpoint } = this.#options;
    const writes = [
      { id: RING_ID, value: encodeRing(ring, version + 1, vault), expectedVersion: version },
      ...(pepper === undefined
        ? []
        : [{ id: PEPPER_ID, value: sealPepper(pepper, vault), expectedVersion: 0 }]),
    ];
    if (!(await documents.putAll(KEYS_COLLECTION, writes))) return false;
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
const PEPPER_GONE = 'the pepper is gone from the store';
const PUT_BACK = 'put the whole backup back, or empty the store to begin anew';

function otherIssuer(stored: string, own: string): string {
  return (
    `the store belongs to the issuer ${stored}, not to ${own}: give each issuer a store of its own (on Redis, a prefix in the ` +
    'URL will do), or, if it has a new name, run "postern store set-issuer"'
  );
}

/** The stored one, unless the other is really newer. */
function newerOf(stored: Ring | undefined, known: Ring | undefined): Ring | undefined {
  return stored !== undefined && stored.generation >= (known?.generation ?? 0) ? stored : known;
}

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
