// What a test does before a store saves something: one record, or several with the use of a code or a page.
import type { NewRecord, Store } from '../../src/store/store.ts';

type Before = (records: readonly NewRecord[]) => unknown;

export function watchSaving() {
  let before: Before | undefined;
  return {
    /** For the world. */
    handStore: (store: Store): Store => {
      const given = store.records;
      const { exchange } = given;
      const records = {
        ...given,
        save: async (record: NewRecord) => {
          await before?.([record]);
          return given.save(record);
        },
        ...(exchange && {
          exchange: async (...use: Parameters<typeof exchange>) => {
            await before?.(use[2]);
            return exchange(...use);
          },
        }),
      };
      return Object.assign(store, { records });
    },
    /** Rejecting, it keeps them from being saved. Undefined: nothing. */
    set: (to: Before | undefined): void => {
      before = to;
    },
  };
}
