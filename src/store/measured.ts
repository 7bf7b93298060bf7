// Measures each operation of the store: how long it took, and whether it failed.
import type { Metrics } from '../observability/metrics.ts';
import { type Store, StoreUnavailable } from './store.ts';

type Measure = Pick<Metrics, 'count' | 'observe'>;

export function measured(store: Store, { count, observe }: Measure, isCut: () => boolean): Store {
  function watch<T>(operation: string, work: (...given: unknown[]) => Promise<T>) {
    count('store_errors', { operation }, 0);
    return async (...given: unknown[]): Promise<T> => {
      if (isCut()) throw new StoreUnavailable();
      const startedAt = performance.now();
      try {
        return await work(...given);
      } catch (error) {
        count('store_errors', { operation });
        throw error;
      } finally {
        observe('store_operation', startedAt, { operation });
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
