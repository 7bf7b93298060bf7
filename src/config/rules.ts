// Rules that compare several fields of one object. A rule is asked only where every field that it reads was understood, so
// that one mistake is reported once.
import type { Report } from './problems.ts';

/** One object of a document (a client, a resource, a person, the file itself), as far as it was understood. */
export type Entry<F> = {
  /** Without the fields that are broken. */
  readonly value: Partial<F>;
  /** The fields that are broken, as opposed to optional and absent. */
  readonly broken: ReadonlySet<string>;
  /** What the file says, for the fields that weren't understood. */
  readonly node: unknown;
  /** Takes a path within it. */
  readonly report: Report;
  /** `config/postern.yaml:12`, to point at from elsewhere. */
  readonly place: string;
  /** Where relative paths start. */
  readonly folder: string;
};

export type Rule<F, C> = {
  /** Where the fault is reported. */
  readonly at: keyof F & string;
  readonly fault: (entry: Entry<F>, context: C) => string | undefined;
};

/** Makes a rule that reads only `needs`, and is reported at the first of them. */
export function ruleFor<F, C>() {
  return <K extends keyof F & string>(
    needs: readonly [K, ...K[]],
    fault: (form: Pick<F, K>, context: C) => string | undefined,
  ): Rule<F, C> => ({
    at: needs[0],
    fault: (entry, context) => {
      const form = understood(entry, needs);
      return form === undefined ? undefined : fault(form, context);
    },
  });
}

/** Reports every rule that `entry` breaks. */
export function applyRules<F, C>(rules: readonly Rule<F, C>[], entry: Entry<F>, context: C): void {
  for (const { at, fault } of rules) {
    const message = fault(entry, context);
    if (message !== undefined) entry.report([at], message);
  }
}

/** The entry's fields, when all of `needs` were understood. */
export function understood<F, K extends keyof F & string>(
  { value, broken }: Entry<F>,
  needs: readonly K[],
): Pick<F, K> | undefined {
  // A field that isn't broken holds what its schema returned.
  return needs.every((key) => !broken.has(key)) ? (value as F) : undefined;
}

/** The entry whole; only for a configuration without problems. */
export function complete<F>(entry: Entry<F>): F {
  if (entry.broken.size === 0) return entry.value as F;
  throw new TypeError(`${entry.place} was read although it has problems`);
}

/** The entry that has had `key` before, or undefined after `entry` was noted as the first. */
export function earlier<E>(noted: Map<string, E>, key: string, entry: E): E | undefined {
  const first = noted.get(key);
  if (first === undefined) noted.set(key, entry);
  return first;
}
