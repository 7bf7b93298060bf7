// The differences between two configurations, key by key, with the names that the file has for them.
import { isDeepStrictEqual } from 'node:util';
import { toFileKey } from './camel-keys.ts';
import { isRecord } from './parse-fields.ts';

export type Difference = {
  readonly kind: 'added' | 'removed' | 'changed';
  /** As `clients[web].redirect_uris`. */
  readonly path: string;
  /** The path without names, as `clients[].redirect_uris`: what a rule is looked up by. */
  readonly rule: string;
  /** `removed`: what is gone. `added`: undefined. */
  readonly from: unknown;
  /** `added`: what is new. `removed`: undefined. */
  readonly to: unknown;
};

type Place = Pick<Difference, 'path' | 'rule'>;
type Entry = Readonly<Record<string, unknown>>;

/** How the entries of a list are identified and named; the elements of any other list are plain values. */
const NAMED_ENTRIES: Readonly<Record<string, { readonly id: string; readonly name: string }>> = {
  clients: { id: 'clientId', name: 'clientId' },
  resources: { id: 'resource', name: 'resource' },
  users: { id: 'id', name: 'username' },
  'clients[].client_secrets': { id: 'id', name: 'label' },
};

/** Every difference, in the order of `current`; the order of a list means nothing. */
export function differences(current: Entry, next: Entry): Difference[] {
  return compareObjects({ path: '', rule: '' }, current, next);
}

function compareObjects(place: Place, current: Entry, next: Entry): Difference[] {
  const keys = new Set([...Object.keys(current), ...Object.keys(next)]);
  return [...keys].flatMap((key) => compare(below(place, key), current[key], next[key]));
}

function compare(place: Place, from: unknown, to: unknown): Difference[] {
  const named = NAMED_ENTRIES[place.rule];
  if (named !== undefined) return compareEntries(place, named, from as Entry[], to as Entry[]);
  if (Array.isArray(from) && Array.isArray(to)) return compareLists(place, from, to);
  if (isRecord(from) && isRecord(to)) return compareObjects(place, from, to);
  return isDeepStrictEqual(from, to) ? [] : [{ kind: 'changed', ...place, from, to }];
}

function compareLists(place: Place, current: readonly unknown[], next: readonly unknown[]): Difference[] {
  return [
    ...without(current, next).map((from) => ({ kind: 'removed' as const, ...place, from, to: undefined })),
    ...without(next, current).map((to) => ({ kind: 'added' as const, ...place, from: undefined, to })),
  ];
}

function without(list: readonly unknown[], others: readonly unknown[]): readonly unknown[] {
  return list.filter((one) => !others.some((other) => isDeepStrictEqual(one, other)));
}

function compareEntries(
  { path, rule }: Place,
  { id, name }: { readonly id: string; readonly name: string },
  current: readonly Entry[],
  next: readonly Entry[],
): Difference[] {
  const byId = (entries: readonly Entry[]) => new Map(entries.map((entry) => [entry[id], entry]));
  const [before, after] = [byId(current), byId(next)];
  const placeOf = (entry: Entry) => ({ path: `${path}[${String(entry[name])}]`, rule: `${rule}[]` });
  const gone = current.filter((entry) => !after.has(entry[id]));
  return [
    ...gone.map((from) => ({ kind: 'removed' as const, ...placeOf(from), from, to: undefined })),
    ...next.flatMap((to): Difference[] => {
      const from = before.get(to[id]);
      if (from === undefined) return [{ kind: 'added', ...placeOf(to), from, to }];
      return compareObjects(placeOf(to), from, to);
    }),
  ];
}

/** Their keys are names of the file itself. */
const MAPS = [
  'groups',
  'scopes',
  'resources[].scope_descriptions',
  'resources[].scope_groups',
  'users[].claims',
];

function below({ path, rule }: Place, key: string): Place {
  const name = MAPS.includes(rule) ? key : toFileKey(key);
  const dot = path === '' ? '' : '.';
  return { path: `${path}${dot}${name}`, rule: `${rule}${dot}${name}` };
}
