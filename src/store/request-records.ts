// The records as one request sees them: what it has read it doesn't ask for again, and what it saves goes out together, at its
// end. Consuming, destroying and revoking are the locks of the service and go out at once, but for what a request uses up on
// a store with transactions. Outside of a request it is the store itself.
import { AsyncLocalStorage } from 'node:async_hooks';
import type {
  Clock,
  ConsumeResult,
  FindHints,
  NewRecord,
  RecordStore,
  SaveResult,
  StoredRecord,
} from './store.ts';

export interface RequestRecords extends RecordStore {
  /**
   * Runs `work` as one request: in it, `save` resolves at once. Resolves when all that was saved is durable. Where `work`
   * rejects, or something can't be saved, the rest may not be saved either, and nothing given to `afterwards` happens.
   * The kinds of which something was saved that lives.
   */
  inOneRequest(work: () => Promise<unknown>): Promise<ReadonlySet<string>>;
  /**
   * Consumes what a request exchanges for what it saves: with that, in one transaction at the end of the request, where the
   * store has transactions; else, and outside of a request, at once. Where somebody else was first, now or at the end, `lose`
   * is called, which throws.
   */
  use(kind: string, key: string, lose: Lose): Promise<void>;
  /** What was saved so far is durable when this resolves. */
  settle(): Promise<void>;
  /** When everything is durable; at once outside of a request. For telling others what happened. */
  readonly afterwards: (action: () => void) => void;
  /** Starts to find what the request will ask for. Does nothing outside of one. */
  readAhead(kind: string, key: string, hints?: FindHints): void;
  /** `work` once a request, whoever asks for `name` again; each time outside of one. */
  readonly once: <T>(name: string, work: () => Promise<T>) => Promise<T>;
}

export type Lose = (result: 'already_consumed' | 'gone') => Promise<never>;

export function createRequestRecords(store: RecordStore, now: Clock): RequestRecords {
  const requests = new AsyncLocalStorage<OneRequest>();
  /** What runs on after the answer is no part of the request any more. */
  const current = () => {
    const request = requests.getStore();
    return request?.isOver === false ? request : undefined;
  };

  return {
    save: (record) => current()?.save(record) ?? store.save(record),
    find: (kind, key, hints) => current()?.find(kind, key, hints) ?? store.find(kind, key, hints),
    findByAlias: (kind, alias) => current()?.findByAlias(kind, alias) ?? store.findByAlias(kind, alias),
    consume: (kind, key, known) => current()?.consume(kind, key) ?? store.consume(kind, key, known),
    destroy: (kind, key) => current()?.destroy(kind, key) ?? store.destroy(kind, key),
    revokeGrant: (grant, ttlSeconds) =>
      current()?.revokeGrant(grant, ttlSeconds) ?? store.revokeGrant(grant, ttlSeconds),

    async use(kind, key, lose) {
      const request = current();
      if (request !== undefined) return request.use({ kind, key, lose });
      const result = await store.consume(kind, key);
      return result === 'consumed' ? undefined : lose(result);
    },

    async inOneRequest(work) {
      const request = new OneRequest(store, now);
      try {
        await requests.run(request, work);
        await request.settle();
      } finally {
        request.isOver = true;
      }
      request.tell();
      return request.saved;
    },
    settle: async () => current()?.settle(),
    afterwards(action) {
      const request = current();
      if (request === undefined) action();
      else request.afterwards(action);
    },
    readAhead(kind, key, hints) {
      // Whoever asks hears of a failure; until then nobody listens.
      current()
        ?.find(kind, key, hints)
        .catch(() => undefined);
    },
    once: (name, work) => current()?.once(name, work) ?? work(),
  };
}

type Found = Promise<StoredRecord | undefined>;
type Use = { readonly kind: string; readonly key: string; readonly lose: Lose };

class OneRequest {
  isOver = false;
  readonly saved = new Set<string>();
  readonly #store: RecordStore;
  readonly #now: Clock;
  /** What is known to stand there, saves that are still to go out included. */
  readonly #found = new Map<string, Found>();
  readonly #unsaved = new Map<string, NewRecord>();
  /** To be written with what is still to go out. */
  #use: Use | undefined;
  readonly #once = new Map<string, Promise<unknown>>();
  readonly #afterwards: (() => void)[] = [];

  constructor(store: RecordStore, now: Clock) {
    this.#store = store;
    this.#now = now;
  }

  async save(record: NewRecord): Promise<SaveResult> {
    const id = idOf(record.kind, record.key);
    this.#unsaved.set(id, record);
    const before = this.#found.get(id);
    if (before !== undefined) {
      // What is there keeps its mark, so who doesn't know what is there doesn't know what will be.
      const after = before.then((found) => this.#saved(record, found));
      after.catch(() => undefined);
      this.#found.set(id, after);
    }
    return 'saved';
  }

  async find(kind: string, key: string, hints?: FindHints): Found {
    const id = idOf(kind, key);
    const known = this.#found.get(id);
    if (known !== undefined) return known;
    await this.#settleOne(id);
    // Somebody else may have asked meanwhile.
    const asked = this.#found.get(id) ?? this.#store.find(kind, key, hints);
    this.#found.set(id, asked);
    return asked;
  }

  async findByAlias(kind: string, alias: string): Found {
    const prefix = idOf(kind, '');
    const ofKind = [...this.#found].filter(([id]) => id.startsWith(prefix));
    for (const [, known] of ofKind) {
      const record = await known;
      // One that ended has left its alias to the next.
      if (record?.alias === alias && record.consumedAt === undefined) return record;
    }
    await this.#saveAll(this.#takeUnsaved());
    return this.#store.findByAlias(kind, alias);
  }

  async use(use: Use): Promise<void> {
    const { kind, key, lose } = use;
    if (this.#store.exchange === undefined || this.#use !== undefined) {
      const result = await this.consume(kind, key);
      return result === 'consumed' ? undefined : lose(result);
    }
    // Others may have used it since it was read; who is first is decided by the transaction.
    const known = await this.#store.find(kind, key);
    if (known === undefined) return lose('gone');
    if (known.consumedAt !== undefined) return lose('already_consumed');
    this.#use = use;
    this.#found.set(idOf(kind, key), Promise.resolve({ ...known, consumedAt: this.#second() }));
  }

  async consume(kind: string, key: string): Promise<ConsumeResult> {
    const id = idOf(kind, key);
    await this.#settleOne(id);
    const known = await this.#found.get(id);
    const result = await this.#store.consume(kind, key, known);
    this.#found.delete(id);
    if (result === 'consumed' && known !== undefined) {
      this.#found.set(id, Promise.resolve({ ...known, consumedAt: this.#second() }));
    }
    return result;
  }

  async destroy(kind: string, key: string): Promise<'destroyed' | 'gone'> {
    const id = idOf(kind, key);
    this.#unsaved.delete(id);
    this.#found.delete(id);
    return this.#store.destroy(kind, key);
  }

  /** The engine revokes a grant once for each of its models. */
  async revokeGrant(grant: string, ttlSeconds: number): Promise<void> {
    await this.once(`revoke ${grant} ${ttlSeconds}`, () => this.#store.revokeGrant(grant, ttlSeconds));
    this.#found.clear();
  }

  async settle(): Promise<void> {
    const use = this.#use;
    const groups = this.#takeUnsaved();
    if (use === undefined || this.#store.exchange === undefined) return this.#saveAll(groups);
    this.#use = undefined;
    const result = await this.#store.exchange(use.kind, use.key, groups.flat());
    return result === 'consumed' ? undefined : use.lose(result);
  }

  /** What ends goes last: it hands its alias over to what follows it. */
  #takeUnsaved(): readonly (readonly NewRecord[])[] {
    const { living = [], ending = [] } = Object.groupBy(this.#unsaved.values(), ({ isConsumed }) =>
      isConsumed ? 'ending' : 'living',
    );
    this.#unsaved.clear();
    return [living, ending];
  }

  async #saveAll(groups: readonly (readonly NewRecord[])[]): Promise<void> {
    for (const group of groups) {
      const results = await Promise.allSettled(group.map((record) => this.#save(record)));
      for (const result of results) {
        if (result.status === 'rejected') throw result.reason;
      }
    }
  }

  once<T>(name: string, work: () => Promise<T>): Promise<T> {
    const known = this.#once.get(name) as Promise<T> | undefined;
    if (known !== undefined) return known;
    const began = work();
    this.#once.set(name, began);
    return began;
  }

  afterwards(action: () => void): void {
    this.#afterwards.push(action);
  }

  tell(): void {
    for (const action of this.#afterwards) action();
  }

  async #settleOne(id: string): Promise<void> {
    const record = this.#unsaved.get(id);
    if (record === undefined) return;
    this.#unsaved.delete(id);
    await this.#save(record);
  }

  async #save(record: NewRecord): Promise<void> {
    const result = await this.#store.save(record);
    if (result === 'saved' && !record.isConsumed) this.saved.add(record.kind);
  }

  #saved(record: NewRecord, before: StoredRecord | undefined): StoredRecord {
    const { key, payload, grant, alias, isConsumed } = record;
    const consumedAt = before?.consumedAt ?? (isConsumed ? this.#second() : undefined);
    return { key, payload, consumedAt, grant, alias };
  }

  #second(): number {
    return Math.floor(this.#now() / 1000);
  }
}

function idOf(kind: string, key: string): string {
  return `${kind}:${key}`;
}
