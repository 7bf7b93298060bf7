// The store port: what a store promises. test/store/ runs this contract on every implementation. What a record means is up to
// oidc/, tokens/, keys/ and users/.

/**
 * One record with a time to live.
 * `key` and `grant` and `alias` are keyed hashes of fixed length (see keyed-hash.ts), never bearer values.
 */
export type NewRecord = Readonly<{
  /** Namespace, one for each kind of thing: `AccessToken`, `Session`, `RevokedToken` … */
  kind: string;
  key: string;
  /** Opaque to the store. */
  payload: string;
  /** Whole seconds, at least 1. Anything else (0, negative, NaN, undefined) is a TypeError: nothing lives for ever. */
  ttlSeconds: number;
  /** The grant that this record belongs to; revoking the grant kills the record. */
  grant?: string | undefined;
  /** A second name to find the record by (a session's uid). The record that has it keeps it until it ends or is followed. */
  alias?: string | undefined;
  /** The key of the record that hands its alias over to this one. */
  follows?: string | undefined;
  /** It ends something (a token that is revoked): where a failover may lose writes, a replica has it before `save` resolves. */
  isConfirmed?: boolean | undefined;
  /** It will be issued, and must exist to be revoked (a refresh token): like `isConfirmed`, but readable meanwhile. */
  isAwaited?: boolean | undefined;
  /** Saved as consumed already, so that a later save doesn't bring it back (a session that ended). Gives up its alias. */
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
 * `changed`: the document of an exchange has another version by now.
 */
export type ConsumeResult = 'consumed' | 'already_consumed' | 'gone' | 'changed';

/** `document` is written as well. `destroys`: destroyed instead of marked; only what wasn't consumed before with `isFirst`. */
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
   * `ended`: it was consumed before, or its alias is another record's: it must not be handed out (again).
   */
  save(record: NewRecord): Promise<SaveResult>;
  /** The live record, or undefined when absent, expired or when its grant is revoked. */
  find(kind: string, key: string): Promise<StoredRecord | undefined>;
  findByAlias(kind: string, alias: string): Promise<StoredRecord | undefined>;
  /**
   * How one of several callers wins a record: a compare-and-set that keeps the time to live and never recreates a key.
   * `found`: the live record as this request has read it, whose grant isn't looked up again.
   */
  consume(kind: string, key: string, found?: StoredRecord): Promise<ConsumeResult>;
  /**
   * Only where the store has transactions: as `consume`, and where this caller won, as `save` of each of `records`, with what that
   * says. All of it happens or nothing.
   */
  readonly exchange?: (
    kind: string,
    key: string,
    records: readonly NewRecord[],
    more?: UseOptions,
  ) => Promise<ExchangeResult>;
  /**
   * Idempotent. Also forgets the alias (if it still points here) and the grant's index entry. `destroyed` for one of several
   * who destroy the same record at once, `gone` for the others and where there was none.
   */
  destroy(kind: string, key: string): Promise<'destroyed' | 'gone'>;
  /**
   * Writes the tombstone first, then deletes what belongs to the grant. Idempotent, order-free, wins over any write racing it.
   * `ttlSeconds` must outlive every record of the grant.
   */
  revokeGrant(grant: string, ttlSeconds: number): Promise<void>;
}

export type StoredDocument = Readonly<{
  id: string;
  value: string;
  /** 1 for the first write, then +1 for each. */
  version: number;
}>;

/** `next` is absent in the last page. */
export type DocumentPage = {
  readonly documents: readonly StoredDocument[];
  readonly next?: string | undefined;
};

export type DocumentWrite = { readonly id: string; readonly value: string; readonly expectedVersion: number };

export type CollectionWrite = DocumentWrite & { readonly collection: string };

/** Small named values without a time to live: the key set, accounts, the pepper. Every write is a compare-and-set. */
export interface DocumentStore {
  get(collection: string, id: string): Promise<StoredDocument | undefined>;
  /** In the order of `ids`, all in one trip. */
  getAll(collection: string, ids: readonly string[]): Promise<readonly (StoredDocument | undefined)[]>;
  list(collection: string): Promise<readonly StoredDocument[]>;
  /**
   * Some of the documents, in no order; `cursor` is the `next` of the page before. A document that is there all the time is in one page
   * at least.
   */
  page(collection: string, cursor?: string): Promise<DocumentPage>;
  /** `expectedVersion` 0 means "must not exist". False: another caller was first, nothing was written. */
  put(collection: string, id: string, value: string, expectedVersion: number): Promise<boolean>;
  /** As `put`, for several documents of one collection: all of them are written at once, or none is. */
  putAll(collection: string, writes: readonly DocumentWrite[]): Promise<boolean>;
  remove(collection: string, id: string, expectedVersion: number): Promise<boolean>;
}

/** `sort`: plain text, readable in the store, so no secret. `id`: what it leads to. */
export type IndexEntry = { readonly sort: string; readonly id: string };

/** Without an id: after all entries of that `sort`. */
export type IndexRange = Readonly<{
  prefix?: string | undefined;
  after?: (Pick<IndexEntry, 'sort'> & Partial<IndexEntry>) | undefined;
  limit: number;
}>;

/**
 * Entries in the order of their `sort` (by code points), then of their id. An entry is a hint: it is written beside the document that it
 * leads to, not with it, and a failover may lose it. Whoever reads one judges by the document.
 */
export interface IndexStore {
  /** False: it was there. TypeError for a text with U+0000, or one that is too long for a key. */
  put(index: string, sort: string, id: string): Promise<boolean>;
  /** Resolves how many weren't there. */
  putAll(index: string, entries: readonly IndexEntry[]): Promise<number>;
  remove(index: string, sort: string, id: string): Promise<void>;
  page(index: string, range: IndexRange): Promise<readonly IndexEntry[]>;
}

export type Count = Readonly<{
  count: number;
  /** Milliseconds until the window ends; 0 when none is open. */
  resetsInMs: number;
}>;

/** Counters in fixed windows, atomic across processes. They end by themselves. */
export interface CounterStore {
  /**
   * Adds `by` (may be negative, never below 0); the first hit opens a window of `windowMs`. With `renew` every hit above 0 makes
   * the window end `windowMs` from now.
   */
  increment(key: string, by: number, windowMs: number, renew?: boolean): Promise<Count>;
  read(key: string): Promise<Count | undefined>;
  remove(key: string): Promise<void>;
}

/** The clock of the store: everything in it expires for all nodes at the same time. */
export interface StoreClock {
  readonly now: Clock;
  /** Whole seconds that it is ahead of this machine's own; 0 where that is right. */
  readonly ahead: number;
}

export interface Store {
  readonly clock: StoreClock;
  readonly records: RecordStore;
  readonly documents: DocumentStore;
  readonly index: IndexStore;
  readonly counters: CounterStore;
  /**
   * Asked for readiness; reads and writes. Rejects with StoreUnavailable when the store can't be asked right now, with
   * StoreTakesNoWrites when it answers but refuses every write, with StoreUnfit when it would lose tokens, or its files
   * are others.
   */
  ping(): Promise<void>;
  /** Names of what was less safe than it could be at the last ping; absent where there is no server. */
  readonly warnings?: () => readonly string[];
  close(): Promise<void>;
}

/** Milliseconds since the epoch, as `Date.now`. */
export type Clock = () => number;

/** The store can't be asked: the caller must answer 503 with Retry-After, never guess. The message says why, for operators. */
export class StoreUnavailable extends Error {
  readonly retryAfterSeconds = 2;
  /** Of a confirmed write: it was sent and its answer was lost. Otherwise it wasn't done. */
  mayBeDone = false;

  constructor(options?: ErrorOptions, message?: string) {
    const reason = options?.cause instanceof Error ? `: ${options.cause.message}` : '';
    super(message ?? `can't reach the store${reason}`, options);
    this.name = new.target.name;
  }
}

/** For work that the caller doesn't wait for. */
export function ifUnavailable(error: unknown): void {
  if (!(error instanceof StoreUnavailable)) throw error;
}

/** `work`, whose failure says whether it may have been done. */
export async function failingAs<T>(mayBeDone: boolean, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof StoreUnavailable ? Object.assign(error, { mayBeDone }) : error;
  }
}

/** The store was reached and answered with an error: a wrong password, a missing right, data that it still loads. */
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

/** The store can be read, and refuses every write. `reason` is the disk's or the server's own, and is safe to show. */
export class StoreTakesNoWrites extends StoreUnavailable {
  constructor(reason: string, options?: ErrorOptions) {
    super(options, `the store rejects writes: ${reason}`);
  }
}
