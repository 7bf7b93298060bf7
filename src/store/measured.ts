// The store with a measure on each operation: how long it took, and whether it failed.
import { type Store, StoreUnavailable } from './store.ts';

const toOperation = (part: string, method: string) =>
  `${part}.${method.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`;

/** All operations, as metrics call them. */
export function operationsOf({ records, documents, counters }: Store): readonly string[] {
  const methods = Object.entries({ records, documents, counters }).flatMap(([part, all]) =>
    Object.keys(all).map((method) => toOperation(part, method)),
  );
  return [...methods, 'ping'];
}

/** Called after each operation. */
export type OnOperation = (operation: string, seconds: number, failed: boolean) => void;

export function measured(store: Store, onOperation: OnOperation, isCut: () => boolean): Store {
  async function run<T>(operation: string, work: () => Promise<T>): Promise<T> {
    if (isCut()) throw new StoreUnavailable();
    const startedAt = performance.now();
    let failed = true;
    try {
      const result = await work();
      failed = false;
      return result;
    } finally {
      onOperation(operation, (performance.now() - startedAt) / 1000, failed);
    }
  }

  /** Each method of `part`. */
  function each<Part extends object>(name: string, part: Part): Part {
    const methods = part as Record<string, (...given: unknown[]) => Promise<unknown>>;
    return Object.fromEntries(
      Object.keys(part).map((method) => {
        const operation = toOperation(name, method);
        return [method, (...given: unknown[]) => run(operation, async () => methods[method]?.(...given))];
      }),
    ) as Part;
  }

  return {
    ...store,
    records: each('records', store.records),
    documents: each('documents', store.documents),
    counters: each('counters', store.counters),
    ping: () => run('ping', () => store.ping()),
  };
}
