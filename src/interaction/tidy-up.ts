// What is left to do when something is done: an outage of the store then must not make it a failure.
import { StoreUnavailable } from '../store/store.ts';

export async function tidyUp(...work: readonly Promise<unknown>[]): Promise<void> {
  for (const result of await Promise.allSettled(work)) {
    if (result.status === 'rejected' && !(result.reason instanceof StoreUnavailable)) throw result.reason;
  }
}
