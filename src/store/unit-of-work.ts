// The store for one request: reads are cached, and saves are written together before the response. Consume, destroy and
// revoke are locks and happen at once; `use` is a lock that happens last. Outside of a request, it is the store itself.
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Clock,
  type ConsumeResult,
  type DocumentStore,
  withMayBeDone,
  type NewRecord,
  type RecordStore,
  type SaveResult,
  type Store,
  type StoredDocument,
  type StoredRecord,
  type UseOptions,
} from './store.ts';

export interface UnitOfWork extends RecordStore {
  /** The documents, each read once per request. Not for a compare-and-set, which needs the newest version. */
  readonly documents: DocumentStore;
  /**
   * Runs `work` as one request, in which `save` resolves at once. Resolves when everything saved is durable, with the kinds
   * of the saved records that are live. If `work` or a save rejects, the rest may not be saved, and no action given to
   * `afterwards` runs.
   */
  run(work: () => Promise<unknown>): Promise<ReadonlySet<string>>;
  /**
   * Consumes a code, a token or an interaction at the end of the request: in one transaction with what it saves, or after that in a store
   * without transactions, so that a failed request uses up nothing. `lose` is called, and throws, when another request was first. Resolves
   * with 'done' if it happened at once, such as with `isLock` in a store without transactions.
   */
  use(kind: string, key: string, lose: Lose, options?: LockOptions): Promise<'done' | 'pending'>;
  /** Resolves when everything saved so far is durable. */
  flush(): Promise<void>;
  /** Starts `write`, which may fail, with the next save or when the request fails; at once outside of a request. */
  readonly beside: (write: () => Promise<unknown>) => Promise<unknown>;
  /** Runs `action` when everything is durable; at once outside of a request. */
  readonly afterwards: (action: () => void) => void;
}

type Lose = (result: Exclude<ConsumeResult, 'consumed'>) => Promise<never>;
/** `isLock`: only the request that wins may save. */
type LockOptions = UseOptions & { readonly isLock?: boolean };

type Stored = Pick<Store, 'records' | 'documents'>;

export function createUnitOfWork({ records, documents }: Stored, now: Clock): UnitOfWork {
  const units = new AsyncLocalStorage<Unit>();
  /** Work after the response isn't part of the request. */
  const current = () => {
    const unit = units.getStore();
    return unit?.isOver === false ? unit : undefined;
  };
  const store = (): RecordStore => current() ?? records;

  return {
    save: (record) => store().save(record),
    find: (kind, key) => store().find(kind, key),
    findByAlias: (kind, alias) => store().findByAlias(kind, alias),
    consume: (kind, key) => store().consume(kind, key),
    destroy: (kind, key) => store().destroy(kind, key),
    revokeGrant: (grant, ttlSeconds) => store().revokeGrant(grant, ttlSeconds),
    documents: {
      ...documents,
      get(collection, id) {
        const ask = () => documents.get(collection, id);
        const unit = current();
        return unit === undefined ? ask() : remember(unit.readDocuments, `${collection}:${id}`, ask);
      },
    },
    async run(work) {
      const unit = new Unit({ records, documents }, now);
      try {
        await units.run(unit, work);
        await unit.flush();
      } finally {
        unit.isOver = true;
        await unit.writeBeside();
      }
      for (const action of unit.afterwards) action();
      return unit.saved;
    },
    use(kind, key, lose, options) {
      const use = { ...options, kind, key, lose };
      return current()?.use(use) ?? useAtOnce({ records, documents }, use);
    },
    flush: async () => current()?.flush(),
    async beside(write) {
      const unit = current();
      return unit === undefined ? write() : unit.beside.push(write);
    },
    afterwards(action) {
      const unit = current();
      if (unit === undefined) action();
      else unit.afterwards.push(action);
    },
  };
}

type Found = Promise<StoredRecord | undefined>;
type Use = LockOptions & Readonly<{ kind: string; key: string; lose: Lose }>;

class Unit implements RecordStore {
  isOver = false;
  readonly saved = new Set<string>();
  readonly afterwards: (() => void)[] = [];
  readonly beside: (() => Promise<unknown>)[] = [];
  readonly readDocuments = new Map<string, Promise<StoredDocument | undefined>>();
  readonly #store: RecordStore;
  readonly #documents: DocumentStore;
  readonly #now: Clock;
  /** The records of the store, with pending saves applied. */
  readonly #found = new Map<string, Found>();
  readonly #unsaved = new Map<string, NewRecord>();
  /** Records destroyed, or saved as consumed: no later save of this request restores them. */
  readonly #ended = new Set<string>();
  readonly #revoked = new Map<string, Promise<void>>();
  /** The pending `use`, written together with the saves. */
  #use: Use | undefined;

  constructor({ records, documents }: Stored, now: Clock) {
    this.#store = records;
    this.#documents = documents;
    this.#now = now;
  }

  async save(record: NewRecord): Promise<SaveResult> {
    const id = idOf(record.kind, record.key);
    if (record.isConsumed) this.#ended.add(id);
    else if (this.#ended.has(id)) return 'ended';
    this.#unsaved.set(id, record);
    const before = this.#found.get(id);
    if (before !== undefined) {
      const after = before.then((found) => this.#asSaved(record, found));
      after.catch(() => undefined);
      this.#found.set(id, after);
    }
    return 'saved';
  }

  async find(kind: string, key: string): Found {
    const id = idOf(kind, key);
    const unsaved = this.#unsaved.get(id);
    return remember(this.#found, id, async () => {
      const found = await this.#store.find(kind, key);
      return unsaved ? this.#asSaved(unsaved, found) : found;
    });
  }

  async findByAlias(kind: string, alias: string): Found {
    for (const [id, found] of this.#found) {
      const record = id.startsWith(idOf(kind, '')) ? await found : undefined;
      // An ended record has passed its alias to its successor.
      if (record?.alias === alias && record.consumedAt === undefined) return record;
    }
    await this.flush();
    return this.#store.findByAlias(kind, alias);
  }

  async use(use: Use): Promise<'done' | 'pending'> {
    const isAtOnce = use.isLock === true && this.#store.exchange === undefined;
    const id = idOf(use.kind, use.key);
    const before = this.#use;
    if (isAtOnce || (before && id !== idOf(before.kind, before.key)))
      return useAtOnce({ records: this, documents: this.#documents }, use);
    // The caller has read the record. The store decides whether another request was first since then.
    // Used again, as when the engine destroys an interaction that this request finished: the first use stays, but for `destroys`.
    this.#use = before ? { ...use, ...before, destroys: use.destroys === true, isFirst: true } : use;
    const found = await this.#found.get(id);
    if (use.destroys) this.#forget(id);
    else if (found !== undefined) this.#setConsumed(id, found);
    return 'pending';
  }

  async consume(kind: string, key: string): Promise<ConsumeResult> {
    const id = idOf(kind, key);
    if (this.#unsaved.has(id)) await this.flush();
    const found = await this.#found.get(id);
    const result = await this.#store.consume(kind, key, found);
    this.#found.delete(id);
    if (result === 'consumed' && found !== undefined) this.#setConsumed(id, found);
    return result;
  }

  async destroy(kind: string, key: string): Promise<'destroyed' | 'gone'> {
    this.#forget(idOf(kind, key));
    return this.#store.destroy(kind, key);
  }

  /** The engine revokes a grant once for each of its models. */
  async revokeGrant(grant: string, ttlSeconds: number): Promise<void> {
    await remember(this.#revoked, `${grant}:${ttlSeconds}`, () => this.#store.revokeGrant(grant, ttlSeconds));
    this.#found.clear();
  }

  async writeBeside(): Promise<void> {
    await Promise.allSettled(this.beside.splice(0).map((write) => write()));
  }

  async flush(): Promise<void> {
    const use = this.#use;
    if (use === undefined) return this.#saveAll();
    this.#use = undefined;
    const { kind, key, lose } = use;
    const found = await this.#found.get(idOf(kind, key));
    if (this.#store.exchange === undefined) await withMayBeDone(false, this.#saveAll());
    const unsaved = this.#takeUnsaved();
    const [exchanged] = await Promise.all([
      this.#store.exchange?.(kind, key, unsaved, use),
      this.writeBeside(),
    ]);
    const result = exchanged ?? (await this.#store.consume(kind, key, found));
    if (typeof result !== 'string')
      return unsaved.forEach((record, index) => this.#note(record, result[index]));
    if (result === 'consumed') return undefined;
    this.#found.delete(idOf(kind, key));
    return lose(result);
  }

  async #saveAll(): Promise<void> {
    const results = await Promise.allSettled([
      ...this.#takeUnsaved().map(async (record) => this.#note(record, await this.#store.save(record))),
      this.writeBeside(),
    ]);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  /** The last save of a record counts: it may have ended since an earlier one. */
  #note({ kind, isConsumed }: NewRecord, result: SaveResult | undefined): void {
    if (isConsumed) return;
    if (result === 'saved') this.saved.add(kind);
    else this.saved.delete(kind);
  }

  /** Ended records are written last: their alias moves to their successor. */
  #takeUnsaved(): readonly NewRecord[] {
    const unsaved = [...this.#unsaved.values()];
    this.#unsaved.clear();
    return [...unsaved.filter((one) => !one.isConsumed), ...unsaved.filter((one) => one.isConsumed)];
  }

  #forget(id: string): void {
    this.#ended.add(id);
    this.#unsaved.delete(id);
    this.#found.delete(id);
  }

  #setConsumed(id: string, found: StoredRecord): void {
    this.#found.set(id, Promise.resolve({ ...found, consumedAt: this.#second() }));
  }

  /** A consumed mark survives a save. */
  #asSaved({ key, payload, grant, alias, isConsumed }: NewRecord, before?: StoredRecord): StoredRecord {
    const consumedAt = before?.consumedAt ?? (isConsumed ? this.#second() : undefined);
    return { key, payload, consumedAt, grant, alias };
  }

  #second(): number {
    return Math.floor(this.#now() / 1000);
  }
}

/** Writes the document first: what it marks as used stays used, even if the rest fails. */
async function useAtOnce(
  { records, documents }: Stored,
  { kind, key, lose, document, destroys = false }: Use,
): Promise<'done'> {
  if (document !== undefined) {
    const { collection, id, value, expectedVersion } = document;
    if (!(await documents.put(collection, id, value, expectedVersion))) return lose('changed');
  }
  const consuming = records.consume(kind, key);
  // Consuming fails where the store rejects confirmed writes: then the record still exists.
  const work = destroys ? consuming.then(() => records.destroy(kind, key)) : consuming;
  const result = await (document === undefined ? work : withMayBeDone(true, work));
  return result === 'consumed' || result === 'destroyed' ? 'done' : lose(result);
}

const idOf = (kind: string, key: string) => `${kind}:${key}`;

function remember<T>(asked: Map<string, Promise<T>>, name: string, ask: () => Promise<T>): Promise<T> {
  const known = asked.get(name) ?? ask();
  asked.set(name, known);
  return known;
}
