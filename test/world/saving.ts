// Runs an action of a test before a store saves something: one record, or several together with the use of a code or a page.
import type { NewRecord, Store } from '../../src/store/store.ts';

type Before = (records: readonly NewRecord[]) => unknown;

export function watchSaving() {
  let before: Before | undefined;
  return {
    /** Option of the world. */
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
    /** Sets the action; undefined removes it. If it rejects, nothing is saved. */
    set: (to: Before | undefined): void => {
      before = to;
    },
  };
}
