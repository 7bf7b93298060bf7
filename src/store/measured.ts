// The store with a measure on each operation: how long it took, whether it failed, and a span when a trace is on.
import { inSpan } from '../observability/trace.ts';
import {
  type CounterStore,
  type DocumentStore,
  type RecordStore,
  type Store,
  StoreUnavailable,
} from './store.ts';

/** As metrics and spans call them. */
export const STORE_OPERATIONS = [
  'records.save',
  'records.find',
  'records.find_by_alias',
  'records.consume',
  'records.exchange',
  'records.destroy',
  'records.revoke_grant',
  'documents.get',
  'documents.list',
  'documents.put',
  'documents.remove',
  'counters.increment',
  'counters.read',
  'counters.set',
  'counters.remove',
  'ping',
] as const;

type StoreOperation = (typeof STORE_OPERATIONS)[number];

/** Called after each operation. */
export type OnOperation = (operation: StoreOperation, seconds: number, failed: boolean) => void;

export function measured(store: Store, onOperation: OnOperation, isCut: () => boolean): Store {
  async function run<T>(operation: StoreOperation, work: () => Promise<T>): Promise<T> {
    if (isCut()) throw new StoreUnavailable();
    const startedAt = performance.now();
    let failed = true;
    try {
      const result = await inSpan(`store ${operation}`, {}, work);
      failed = false;
      return result;
    } finally {
      onOperation(operation, (performance.now() - startedAt) / 1000, failed);
    }
  }

  const { clock, timeOfDay, records, documents, counters } = store;
  const { exchange } = records;
  const measuredRecords: RecordStore = {
    save: (record) => run('records.save', () => records.save(record)),
    find: (kind, key) => run('records.find', () => records.find(kind, key)),
    findByAlias: (kind, alias) => run('records.find_by_alias', () => records.findByAlias(kind, alias)),
    consume: (kind, key, found) => run('records.consume', () => records.consume(kind, key, found)),
    ...(exchange && {
      exchange: (...use: Parameters<typeof exchange>) => run('records.exchange', () => exchange(...use)),
    }),
    destroy: (kind, key) => run('records.destroy', () => records.destroy(kind, key)),
    revokeGrant: (grant, ttlSeconds) =>
      run('records.revoke_grant', () => records.revokeGrant(grant, ttlSeconds)),
  };
  const measuredDocuments: DocumentStore = {
    get: (collection, id) => run('documents.get', () => documents.get(collection, id)),
    list: (collection) => run('documents.list', () => documents.list(collection)),
    put: (collection, id, value, version) =>
      run('documents.put', () => documents.put(collection, id, value, version)),
    putAll: (collection, writes) => run('documents.put', () => documents.putAll(collection, writes)),
    remove: (collection, id, version) =>
      run('documents.remove', () => documents.remove(collection, id, version)),
  };
  const measuredCounters: CounterStore = {
    increment: (key, by, windowMs, renew) =>
      run('counters.increment', () => counters.increment(key, by, windowMs, renew)),
    read: (key) => run('counters.read', () => counters.read(key)),
    set: (key, count, windowMs) => run('counters.set', () => counters.set(key, count, windowMs)),
    remove: (key) => run('counters.remove', () => counters.remove(key)),
  };
  return {
    clock,
    timeOfDay,
    records: measuredRecords,
    documents: measuredDocuments,
    counters: measuredCounters,
    ping: () => run('ping', () => store.ping()),
    takeCredentials: async (url) => store.takeCredentials?.(url),
    warnings: () => store.warnings?.() ?? [],
    close: () => store.close(),
  };
}
