// A real record store that notes its calls, such as `AccessToken.save`.
import type { RecordStore } from '../../../src/store/store.ts';

export type CountingRecords = {
  readonly records: RecordStore;
  /** Calls in their order; `calls.length = 0` clears them. */
  readonly calls: string[];
};

export function countCalls(real: RecordStore): CountingRecords {
  const calls: string[] = [];
  return {
    calls,
    records: {
      save(record) {
        calls.push(`${record.kind}.save`);
        return real.save(record);
      },
      find(kind, key) {
        calls.push(`${kind}.find`);
        return real.find(kind, key);
      },
      findByAlias(kind, alias) {
        calls.push(`${kind}.findByAlias`);
        return real.findByAlias(kind, alias);
      },
      consume(kind, key, found) {
        calls.push(`${kind}.consume`);
        return real.consume(kind, key, found);
      },
      destroy(kind, key) {
        calls.push(`${kind}.destroy`);
        return real.destroy(kind, key);
      },
      revokeGrant(grant, ttlSeconds) {
        calls.push('revokeGrant');
        return real.revokeGrant(grant, ttlSeconds);
      },
    },
  };
}
