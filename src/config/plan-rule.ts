// What rules of a plan are made of: sentences that many keys share.
import type { Config } from './config.ts';
import type { Difference } from './diff.ts';
import { formatDuration } from './notation.ts';

/** info: worth knowing, nothing changes. change: something changes. breaking: something that works now stops working. */
export type Severity = 'info' | 'change' | 'breaking';

export type PlanItem = {
  readonly severity: Severity;
  /** Where, as `clients[web].redirect_uris`. */
  readonly path: string;
  /** What changes, and its consequence. Never a secret. */
  readonly message: string;
};

type Meaning = readonly [severity: Severity, message: string];
export type PlanContext = { readonly current: Config; readonly next: Config; readonly now: number };
export type Rule = (difference: Difference, context: PlanContext) => Meaning;

export const AT_START = 'takes effect at the next start';

export function change({ kind, rule, from, to }: Difference): string {
  if (kind === 'added') return `${show(to, rule)} is new`;
  if (kind === 'removed') return `${show(from, rule)} is dropped`;
  return `${show(from, rule)} becomes ${show(to, rule)}`;
}

export function becomes(meaning?: string, severity: Severity = 'change'): Rule {
  return (difference) => [
    severity,
    meaning === undefined ? change(difference) : `${change(difference)}: ${meaning}`,
  ];
}

/** A list whose elements work only as long as they are in it. */
export function dropped(consequence: string): Rule {
  return (difference) =>
    difference.kind === 'removed'
      ? ['breaking', `${change(difference)}: ${consequence}`]
      : ['change', change(difference)];
}

export function shorterOrLonger(shorter: string, longer: string): Rule {
  return (difference) => [
    'change',
    `${change(difference)}: ${Number(difference.to) < Number(difference.from) ? shorter : longer}`,
  ];
}

/** The consequence alone, for values that are secret or private. */
export function says(severity: Severity, message: string): Rule {
  return () => [severity, message];
}

/** An entry that comes or goes as a whole. */
export function entry(consequence: string): Rule {
  return ({ kind }) =>
    kind === 'removed' ? ['breaking', `is removed: ${consequence}`] : ['change', 'is new'];
}

export function toggle(on: Meaning, off: Meaning): Rule {
  return ({ to }) => (to === true ? on : off);
}

const DURATIONS =
  /^lifetimes\.|\.access_token$|^signing_keys\.(?!modulus)|^sign_in\.grace$|\.sign_in\.max_age$/;

export function show(value: unknown, rule: string): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'number' && DURATIONS.test(rule)) return formatDuration(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}
