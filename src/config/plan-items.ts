// How plan-*.ts compare: lists, single values, times. Owns the comparisons; what a difference means is said by who asks.
import { formatDuration } from './duration.ts';
import type { PlanItem, Severity, Sides } from './plan.ts';

/** An item, as a list so that there may be none. */
export function item(severity: Severity, path: string, message: string): PlanItem[] {
  return [{ severity, path, message }];
}

export type ListWords = {
  /** What it means that one isn't there any more. */
  readonly dropped: string;
  readonly added?: string;
  readonly severity?: Severity;
};

/** What a list lost and gained; the order means nothing. */
export function compareLists(
  path: string,
  { current, next }: Sides<readonly string[]>,
  { dropped, added = 'is new', severity = 'breaking' }: ListWords,
): PlanItem[] {
  return [
    ...current
      .filter((one) => !next.includes(one))
      .flatMap((one) => item(severity, path, `${one} ${dropped}`)),
    ...next.filter((one) => !current.includes(one)).flatMap((one) => item('change', path, `${one} ${added}`)),
  ];
}

/** A value that is another one now. `meaning` is appended. */
export function compareValues(
  path: string,
  { current, next }: Sides<unknown>,
  { severity = 'change', meaning = '' }: { readonly severity?: Severity; readonly meaning?: string } = {},
): PlanItem[] {
  const [from, to] = [current, next].map(shown);
  return from === to ? [] : item(severity, path, `${from} becomes ${to}${meaning && `: ${meaning}`}`);
}

export type DurationWords = { readonly shorter: string; readonly longer: string };

/** A time that is shorter or longer now, in seconds. */
export function compareDurations(
  path: string,
  { current, next }: Sides<number>,
  { shorter, longer }: DurationWords,
): PlanItem[] {
  if (current === next) return [];
  const change = `${formatDuration(current)} becomes ${formatDuration(next)}`;
  return item('change', path, `${change}: ${next < current ? shorter : longer}`);
}

/** Every value that no other comparison has spoken for, so that nothing changes without a word. */
export function compareRest<T extends object>(
  pathOf: (key: string) => string,
  { current, next }: Sides<T>,
  spokenFor: readonly (keyof T & string)[],
): PlanItem[] {
  const [before, after] = [new Map(Object.entries(current)), new Map(Object.entries(next))];
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((key) => !spokenFor.some((known) => known === key))
    .flatMap((key) =>
      compareValues(pathOf(toFileName(key)), { current: before.get(key), next: after.get(key) }),
    );
}

/** `clientName` as the file has it: `client_name`. */
export function toFileName(key: string): string {
  return key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
