// The signing keys of an installation in its store: reads ring and pepper, rejects lost, altered or rolled-back ones, and changes
// the ring by compare-and-set.
import { randomBytes } from 'node:crypto';
import type { Clock, DocumentStore } from '../store/store.ts';
import type { Algorithm } from '../config/signing-algorithms.ts';
import type { KeyMaterial } from './generate-key.ts';
import { assertIssuer, belongsTo, openPepper, pepperId, sealPepper } from './installation.ts';
import { sealKey, toKeySet, type KeySet } from './key-set.ts';
import type { Moment, NewKey, Ring } from './ring.ts';
import { decodeRing, encodeRing, KEYS_COLLECTION, PEPPER_ID, RING_ID } from './ring-document.ts';
import { publishActive, withReserve } from './schedule.ts';
import type { Timing } from '../config/key-times.ts';
import { KeyStoreError, type Vault } from './vault.ts';

const PEPPER_BYTES = 32;
/** The most lost races before giving up: writers don't pause. */
const MAX_ATTEMPTS = 50;

const GONE = 'the key ring is gone from the store';
const PEPPER_GONE = 'the pepper is gone from the store';
const PUT_BACK = 'restore the whole backup, or empty the store to start over';

/** What a new configuration may change. */
export type KeySettings = Readonly<{
  timing: Timing;
  generateKey: (alg: Algorithm) => Promise<KeyMaterial>;
  /** The families that the ring must have. Default: RS256 only. */
  algorithms?: readonly Algorithm[] | undefined;
}>;

export type KeyStoreOptions = KeySettings & {
  readonly documents: DocumentStore;
  readonly vault: Vault;
  readonly now: Clock;
  /** The issuer that the ring must belong to. Absent: any issuer. */
  readonly issuer?: string | undefined;
};

/** `version`: the version of the ring's document. */
type Found = Readonly<{ ring: Ring; version: number; sealedPepper: string | undefined }>;

export class KeyStore {
  #options: KeyStoreOptions;
  /** The newest generation that was read or written here. */
  #highest = 0;
  #pepper: Buffer | undefined;
  /** Whether `ensure` found an empty store, and created ring and pepper. */
  isNew = false;

  constructor(options: KeyStoreOptions) {
    this.#options = options;
  }

  /** Uses these settings for the ring from now on. */
  change(settings: Partial<KeySettings>): void {
    this.#options = { ...this.#options, ...settings };
  }

  /** The clock of the store. */
  get now(): Clock {
    return this.#options.now;
  }

  /** The time now, and the configured times. */
  get moment(): Moment {
    return { now: this.now(), timing: this.#options.timing };
  }

  get algorithms(): readonly Algorithm[] {
    return this.#options.algorithms ?? ['RS256'];
  }

  /** 32 bytes. Throws before `ensure`. */
  get pepper(): Buffer {
    if (!this.#pepper) throw new Error('the keys have not been opened');
    return this.#pepper;
  }

  /**
   * For startup: creates the first ring and pepper of a new installation, otherwise loads them and opens what signs. A new process
   * accepts the ring that it finds, so that a backup can be restored. Throws KeyStoreError if only one of the two exists, and never
   * creates the other.
   */
  async ensure(): Promise<Ring> {
    const opened = await this.#open();
    if (!opened) return this.#createFirst();
    this.#pepper = opened.pepper;
    return opened.ring;
  }

  /** Checks, without a change, whether `ensure` would work: rejects as it would. */
  async check(): Promise<void> {
    await this.#open();
  }

  /**
   * Resolves the stored ring. Throws KeyStoreError: `missing`; `rolled_back` if it is older than what this process has seen;
   * `foreign` if it belongs to another issuer or, after `ensure`, to another pepper than this process's.
   */
  async load(): Promise<Ring> {
    return (await this.#read()).ring;
  }

  /**
   * Stores the ring that `change` returns, one generation later; the same ring means no change. After a lost race, reads again and
   * calls `change` again. Resolves the ring that is then stored.
   */
  async update(change: (ring: Ring) => Ring | Promise<Ring>): Promise<Ring> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const { ring, version } = await this.#read();
      const changed = await change(ring);
      if (changed === ring) return ring;
      const next = { ...changed, generation: ring.generation + 1 };
      if (await this.#write(next, version)) return next;
    }
    throw new KeyStoreError('busy', 'other nodes changed the key ring at the same time: try again');
  }

  /** Generates a sealed key that isn't in a ring yet. */
  async newKey(alg: Algorithm = 'RS256'): Promise<NewKey> {
    const { generateKey, now, vault } = this.#options;
    return sealKey(await generateKey(alg), now(), vault);
  }

  /** The ring at `at`, epoch milliseconds. Throws KeyStoreError when no key can sign or a private part can't be opened. */
  toKeySet(ring: Ring, at = this.#options.now()): KeySet {
    return toKeySet(ring, at, this.#options.vault);
  }

  /** Resolves undefined if neither ring nor pepper exists, or ever did. */
  async #open(): Promise<Readonly<{ ring: Ring; pepper: Buffer }> | undefined> {
    const found = await this.#find(`: ${PUT_BACK}`);
    if (found === undefined) return undefined;
    const { ring, sealedPepper } = found;
    if (sealedPepper === undefined) throw new KeyStoreError('missing', `${PEPPER_GONE}: ${PUT_BACK}`);
    const pepper = openPepper(sealedPepper, this.#options.vault);
    if (!belongsTo(ring, pepper)) {
      throw new KeyStoreError('foreign', `the pepper in the store belongs to another key ring: ${PUT_BACK}`);
    }
    this.toKeySet(ring);
    return { ring, pepper };
  }

  async #createFirst(): Promise<Ring> {
    const pepper = randomBytes(PEPPER_BYTES);
    const [active, reserve] = [await this.newKey(), await this.newKey()];
    const { moment } = this;
    const installation = { pepper: pepperId(pepper), issuer: this.#options.issuer };
    const empty = { generation: 1, keys: [], gone: [], installation };
    const ring = withReserve(publishActive(empty, moment, active), moment.now, reserve);
    // If another process was first, its ring is used.
    if (!(await this.#write(ring, 0, pepper))) return this.ensure();
    this.#pepper = pepper;
    this.isNew = true;
    return ring;
  }

  async #read(): Promise<Found> {
    const found = await this.#find();
    if (found === undefined) throw new KeyStoreError('missing', GONE);
    if (this.#pepper && found.sealedPepper === undefined) throw new KeyStoreError('missing', PEPPER_GONE);
    return found;
  }

  /**
   * Resolves undefined if neither ring nor pepper exists, or ever did. `advice`: for an administrator, if the ring is gone. Throws
   * KeyStoreError, `foreign` if the stored ones belong to another issuer, or to another pepper than this process's.
   */
  async #find(advice = ''): Promise<Found | undefined> {
    const { documents, vault, issuer } = this.#options;
    // Taken before the read, so that a write during the read doesn't look like a rollback.
    const highest = this.#highest;
    // Read at once, as they are written.
    const [document, pepper] = await documents.getAll(KEYS_COLLECTION, [RING_ID, PEPPER_ID]);
    const sealedPepper = pepper?.value;
    const decoded = document && decodeRing(document.value, document.version, vault);
    if (decoded) assertIssuer(decoded.ring, issuer);
    this.#assertOwn(decoded?.ring, sealedPepper);
    if (!decoded && sealedPepper === undefined && highest === 0) return undefined;
    if (!decoded) throw new KeyStoreError('missing', `${GONE}${advice}`);
    const { ring, isInPlace } = decoded;
    assertNewest(ring, isInPlace, highest);
    this.#highest = Math.max(this.#highest, ring.generation);
    return { ring, version: document.version, sealedPepper };
  }

  #assertOwn(ring: Ring | undefined, sealedPepper: string | undefined): void {
    const own = this.#pepper;
    if (!own) return;
    const isOther =
      (sealedPepper !== undefined && !openPepper(sealedPepper, this.#options.vault).equals(own)) ||
      (ring !== undefined && !belongsTo(ring, own));
    if (!isOther) return;
    throw new KeyStoreError(
      'foreign',
      'the store was emptied or replaced, and another node created new keys in it: restart this node',
    );
  }

  /** Writes the ring, with `pepper` (which must not be stored yet) both or none. Resolves false if another process was first. */
  async #write(ring: Ring, version: number, pepper?: Buffer): Promise<boolean> {
    const { documents, vault } = this.#options;
    const writes = [{ id: RING_ID, value: encodeRing(ring, version + 1, vault), expectedVersion: version }];
    if (pepper) {
      writes.push({ id: PEPPER_ID, value: sealPepper(pepper, vault), expectedVersion: 0 });
    }
    const isWritten = await documents.putAll(KEYS_COLLECTION, writes);
    if (isWritten) this.#highest = Math.max(this.#highest, ring.generation);
    return isWritten;
  }
}

function assertNewest({ generation }: Ring, isInPlace: boolean, highest: number): void {
  if (generation >= highest && isInPlace) return;
  const seen = generation < highest ? `: generation ${highest} was seen, this is ${generation}` : '';
  throw new KeyStoreError('rolled_back', `an older key ring was restored${seen}`);
}
