// The store port: the contract that test/store/ runs on every implementation. oidc/, tokens/, keys/ and users/ define what a
// record means.

/**
 * One record with a time to live.
 * `key`, `grant` and `alias` are keyed hashes of fixed length (see keyed-hash.ts), never bearer values.
 */
export type NewRecord = Readonly<{
  /** Namespace: `AccessToken`, `Session`, `RevokedToken` … */
  kind: string;
  key: string;
  /** Opaque to the store. */
  payload: string;
  /** Whole seconds, at least 1. Anything else (0, negative, NaN, undefined) is a TypeError: every record expires. */
  ttlSeconds: number;
  /** The grant that this record belongs to; revoking the grant invalidates the record. */
  grant?: string | undefined;
  /** A second name to find the record by (a session's uid). Only one that `follows` a live record can take its alias. */
  alias?: string | undefined;
  /** The key of the record whose alias this one takes over. */
  follows?: string | undefined;
  /** The record revokes something (a token). Where a failover may lose writes, `save` resolves once the replicas have it. */
  isConfirmed?: boolean | undefined;
  /** The record is issued and must exist to be revoked (a refresh token): like `isConfirmed`, but readable meanwhile. */
  isAwaited?: boolean | undefined;
  /** Saves the record as consumed, so that a later save can't restore it (a session that ended). Releases its alias. */
  isConsumed?: boolean | undefined;
}>;

export type StoredRecord = Readonly<{
  key: string;
  payload: string;
  /** Epoch seconds of the successful `consume`, absent before. */
  consumedAt?: number | undefined;
  grant?: string | undefined;
  alias?: string | undefined;
}>;

/** The kind of a grant's own record: its key is the name of the grant. */
export const GRANT = 'Grant';

export type SaveResult = 'saved' | 'grant_revoked' | 'ended';

/**
 * `consumed`: this caller won. `already_consumed`: another caller was first. `gone`: absent, expired or its grant is revoked.
 * `changed`: the document of an exchange has changed since it was read.
 */
export type ConsumeResult = 'consumed' | 'already_consumed' | 'gone' | 'changed';

/** `document`: also written. `destroys`: deletes the record instead of marking it. `isFirst`: only if it wasn't consumed before. */
export type UseOptions = Readonly<{
  document?: CollectionWrite | undefined;
  destroys?: boolean;
  isFirst?: boolean;
}>;

type ExchangeResult = readonly SaveResult[] | Exclude<ConsumeResult, 'consumed'>;

export interface RecordStore {
  /**
   * Replaces the record atomically and resolves when it is durable. A consumed mark on the same key survives.
   * `grant_revoked`: the record's grant has a tombstone; nothing findable was stored.
   * `ended`: the record was consumed before, or another record has its alias. It must not be issued (again).
   */
  save(record: NewRecord): Promise<SaveResult>;
  /** Undefined when the record is absent or expired, or its grant is revoked. */
  find(kind: string, key: string): Promise<StoredRecord | undefined>;
  findByAlias(kind: string, alias: string): Promise<StoredRecord | undefined>;
  /**
   * Lets one of several callers win a record: a compare-and-set that keeps the time to live and never recreates a key.
   * `found`: the live record as this request has read it; its grant isn't looked up again.
   */
  consume(kind: string, key: string, found?: StoredRecord): Promise<ConsumeResult>;
  /**
   * Only in a store with transactions: `consume`, then, if this caller won, `save` for each of `records`, in one transaction.
   * Resolves with the results of the saves, or with the reason why this caller didn't win.
   */
  readonly exchange?: (
    kind: string,
    key: string,
    records: readonly NewRecord[],
    more?: UseOptions,
  ) => Promise<ExchangeResult>;
  /**
   * Idempotent. Also deletes the alias (if it still points here) and the grant's index entry. `destroyed` for one of several
   * concurrent callers, `gone` for the others and where there was no record.
   */
  destroy(kind: string, key: string): Promise<'destroyed' | 'gone'>;
  /**
   * Writes the tombstone first, then deletes the grant's records. Idempotent; wins over every concurrent write, in any order.
   * `ttlSeconds` must outlive every record of the grant.
   */
  revokeGrant(grant: string, ttlSeconds: number): Promise<void>;
}

export type StoredDocument = Readonly<{
  id: string;
  value: string;
  /** 1 after the first write; each further write adds 1. */
  version: number;
}>;

/** `next` is absent on the last page. */
export type DocumentPage = Readonly<{ documents: readonly StoredDocument[]; next?: string | undefined }>;

export type DocumentWrite = Readonly<{ id: string; value: string; expectedVersion: number }>;

export type CollectionWrite = DocumentWrite & { readonly collection: string };

/** Small named values without a time to live: the key set, accounts, the pepper. Every write is a compare-and-set. */
export interface DocumentStore {
  get(collection: string, id: string): Promise<StoredDocument | undefined>;
  /** Reads all in one round trip, in the order of `ids`. */
  getAll(collection: string, ids: readonly string[]): Promise<readonly (StoredDocument | undefined)[]>;
  list(collection: string): Promise<readonly StoredDocument[]>;
  /**
   * Reads a page of documents, in no particular order. `cursor` is the `next` of the page before. A document that exists during the
   * whole walk is on at least one page.
   */
  page(collection: string, cursor?: string): Promise<DocumentPage>;
  /** `expectedVersion` 0 means "must not exist". False: another caller was first, nothing was written. */
  put(collection: string, id: string, value: string, expectedVersion: number): Promise<boolean>;
  /** Writes all documents at once, or none. */
  putAll(collection: string, writes: readonly DocumentWrite[]): Promise<boolean>;
  remove(collection: string, id: string, expectedVersion: number): Promise<boolean>;
}

/** `sort`: plain text in the store, so never a secret. `id`: the document that the entry leads to. */
export type IndexEntry = Readonly<{ sort: string; id: string }>;

/** `after` without an id: after all entries of that `sort`. */
export type IndexRange = Readonly<{
  prefix?: string | undefined;
  after?: (Pick<IndexEntry, 'sort'> & Partial<IndexEntry>) | undefined;
  limit: number;
}>;

/**
 * Entries ordered by `sort` (by code points), then by id. An entry is a hint: it is written beside its document, not in the same
 * transaction, and a failover may lose it. Readers must check the document.
 */
export interface IndexStore {
  /** False: it existed already. Rejects with TypeError for a text with U+0000, or one that is too long for a key. */
  put(index: string, sort: string, id: string): Promise<boolean>;
  /** Resolves with the number of new entries. */
  putAll(index: string, entries: readonly IndexEntry[]): Promise<number>;
  remove(index: string, sort: string, id: string): Promise<void>;
  page(index: string, range: IndexRange): Promise<readonly IndexEntry[]>;
}

export type Count = Readonly<{
  count: number;
  /** Milliseconds until the window ends; 0 when none is open. */
  resetsInMs: number;
}>;

/** Counters in fixed windows, atomic across processes. They expire by themselves. */
export interface CounterStore {
  /**
   * Adds `by` (may be negative; the count never falls below 0). The first hit opens a window of `windowMs`. With `renew`, every
   * positive hit lets the window end `windowMs` from now.
   */
  increment(key: string, by: number, windowMs: number, renew?: boolean): Promise<Count>;
  read(key: string): Promise<Count | undefined>;
  remove(key: string): Promise<void>;
}

/** The clock of the store: by it, everything expires for all nodes at the same time. */
export interface StoreClock {
  readonly now: Clock;
  /** Whole seconds that it is ahead of this machine's clock; 0 where that clock is right. */
  readonly ahead: number;
}

export interface Store {
  readonly clock: StoreClock;
  readonly records: RecordStore;
  readonly documents: DocumentStore;
  readonly index: IndexStore;
  readonly counters: CounterStore;
  /**
   * The readiness check; reads and writes. Rejects with StoreUnavailable when the store can't be reached right now, with
   * StoreTakesNoWrites when it answers but rejects every write, with StoreUnfit when it would lose tokens or its files
   * were replaced.
   */
  ping(): Promise<void>;
  /** Names of the warnings at the last ping (settings that could be safer); absent in a store without a server. */
  readonly warnings?: () => readonly string[];
  close(): Promise<void>;
}

/** Milliseconds since the epoch, as `Date.now`. */
export type Clock = () => number;

/** The store can't be reached: the caller must answer 503 with Retry-After, never guess. The message tells administrators why. */
export class StoreUnavailable extends Error {
  readonly retryAfterSeconds = 2;
  /** For a confirmed write. True: it was sent and its answer was lost. False: it wasn't done. */
  mayBeDone = false;

  constructor(options?: ErrorOptions, message?: string) {
    const reason = options?.cause instanceof Error ? `: ${options.cause.message}` : '';
    super(message ?? `can't reach the store${reason}`, options);
    this.name = new.target.name;
  }
}

/** For a catch: ignores an outage of the store and damaged data. Rethrows any other error, which is a bug. */
export function ifUnavailable(error: unknown): undefined {
  if (!(error instanceof StoreUnavailable)) throw error;
}

/** Sets `mayBeDone` on the StoreUnavailable that `work` rejects with. */
export async function withMayBeDone<T>(mayBeDone: boolean, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof StoreUnavailable ? Object.assign(error, { mayBeDone }) : error;
  }
}

/** The store was reached and answered with an error: a wrong password, a missing permission, data that is still loading. */
export class StoreRefused extends StoreUnavailable {
  readonly reason: string;

  constructor(cause: Error) {
    super({ cause }, `the store returned an error: ${cause.message}`);
    this.reason = cause.message;
  }
}

/** The store answers, but it would lose tokens: a setting of the server must change. The message says which, and is safe to show. */
export class StoreUnfit extends StoreUnavailable {
  constructor(message: string, options?: ErrorOptions) {
    super(options, message);
  }
}

/** The store can be read but rejects every write. `reason` comes from the disk or the server, and is safe to show. */
export class StoreTakesNoWrites extends StoreUnavailable {
  constructor(reason: string, options?: ErrorOptions) {
    super(options, `the store rejects writes: ${reason}`);
  }
}
