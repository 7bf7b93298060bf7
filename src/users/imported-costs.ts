// The costs of verifying imported password hashes: each sign-in verifies one hash of each cost (accounts.ts). A cost is written
// before the first hash that has it, and is never removed.
import { changeDocument, readMembers } from '../store/documents.ts';
import type { StoredForm } from '../store/form.ts';
import type { Clock, DocumentStore } from '../store/store.ts';

const COSTS = { collection: 'password-costs', id: 'imported', what: 'the costs of imported passwords' };

const REMEMBERED_MS = 1000;
/** The time after which every process knows a new cost. */
export const COSTS_KNOWN_MS = 2 * REMEMBERED_MS;

const toCosts = ({ costs }: StoredForm): readonly string[] => (Array.isArray(costs) ? costs.map(String) : []);

export function createImportedCosts(documents: DocumentStore, now: Clock) {
  let last: Readonly<{ at: number; costs: Promise<readonly string[]> }> | undefined;

  return {
    /** Resolves the costs, at most a second old. Throws StoreUnavailable. */
    get: async (): Promise<readonly string[]> => {
      const at = now();
      // The clock may be set back.
      if (last === undefined || Math.abs(at - last.at) >= REMEMBERED_MS) {
        last = { at, costs: readMembers(documents, COSTS).then(toCosts) };
        last.costs.catch(() => (last = undefined));
      }
      return last.costs;
    },
    /** `judge` gets all costs after the change, and may throw. Resolves true if one is new: all know it after `COSTS_KNOWN_MS`. */
    add: (costs: Iterable<string>, judge: (all: readonly string[]) => void): Promise<boolean> =>
      changeDocument(documents, COSTS, (form) => {
        const before = toCosts(form);
        const all = [...new Set([...before, ...costs])];
        judge(all);
        return all.length > before.length ? { costs: all } : undefined;
      }),
  };
}
