// The store with a measure on each operation: how long it took, and whether it failed.
import { type Store, StoreUnavailable } from './store.ts';

/** Asked once for each operation, by its name in metrics; what it returns is called after each run. */
type ToMeasure = (operation: string) => (seconds: number, failed: boolean) => void;

export function measured(store: Store, toMeasure: ToMeasure, isCut: () => boolean): Store {
  function watch<T>(operation: string, work: (...given: unknown[]) => Promise<T>) {
    const measure = toMeasure(operation);
    return async (...given: unknown[]): Promise<T> => {
      if (isCut()) throw new StoreUnavailable();
      const startedAt = performance.now();
      let failed = true;
      try {
        const result = await work(...given);
        failed = false;
        return result;
      } finally {
        measure((performance.now() - startedAt) / 1000, failed);
      }
    };
  }

  function each<Part extends object>(name: string, part: Part): Part {
    const methods = part as Record<string, (...given: unknown[]) => Promise<unknown>>;
    return Object.fromEntries(
      Object.keys(part).map((method) => {
        const snakeCase = method.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
        return [method, watch(`${name}.${snakeCase}`, async (...given) => methods[method]?.(...given))];
      }),
    ) as Part;
  }

  return {
    ...store,
    records: each('records', store.records),
    documents: each('documents', store.documents),
    index: each('index', store.index),
    counters: each('counters', store.counters),
    ping: watch('ping', () => store.ping()),
  };
}
