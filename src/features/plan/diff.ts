// The differences between two configurations, key by key, with the key names of the file.
import { isDeepStrictEqual } from 'node:util';
import { toFileKey } from '../../config/camel-keys.ts';
import { isRecord } from '../../config/parse-fields.ts';

/** A value, or an element of a list. `from` is undefined if it was added, `to` if it was removed. */
export type Difference = Readonly<{
  /** Such as `clients[web].redirect_uris`. */
  path: string;
  /** The path without names, such as `clients[].redirect_uris`, to look up a rule. */
  rule: string;
  from: unknown;
  to: unknown;
}>;

/** Values whose keys are names from the file. */
const MAPS =
  /^(groups|scopes|clients(\[\]\.client_secrets)?|resources(\[\]\.scope_(descriptions|groups))?|users(\[\]\.claims)?)$/;

type Entry = Readonly<Record<string, unknown>>;

/** All differences, in the order of `current`. The order of a list is ignored. */
export function differences(current: Entry, next: Entry, place = { path: '', rule: '' }): Difference[] {
  const keys = new Set([...Object.keys(current), ...Object.keys(next)]);
  return [...keys].flatMap((key): Difference[] => {
    const below = placeOf(place, key);
    const [from, to] = [current[key], next[key]];
    if (isDeepStrictEqual(from, to)) return [];
    if (Array.isArray(from) && Array.isArray(to)) {
      return [
        ...without(from, to).map((one) => ({ ...below, from: one, to: undefined })),
        ...without(to, from).map((one) => ({ ...below, from: undefined, to: one })),
      ];
    }
    return isRecord(from) && isRecord(to) ? differences(from, to, below) : [{ ...below, from, to }];
  });
}

function placeOf({ path, rule }: Readonly<{ path: string; rule: string }>, key: string) {
  if (MAPS.test(rule)) return { path: `${path}[${key}]`, rule: `${rule}[]` };
  const step = `${path === '' ? '' : '.'}${toFileKey(key)}`;
  return { path: `${path}${step}`, rule: `${rule}${step}` };
}

const without = (list: readonly unknown[], others: readonly unknown[]): readonly unknown[] =>
  list.filter((one) => !others.some((other) => isDeepStrictEqual(one, other)));
