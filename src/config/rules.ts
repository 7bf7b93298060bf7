// One object of a document: a client, a resource, a user, or the file itself.
import type { Path, Report } from './problems.ts';
import { lookOf } from './text.ts';
import { quoted } from './yaml.ts';

export type Entry<F> = Readonly<{
  /** The output of its schema, for an object without faults. */
  value: F;
  /** Takes a path within the object. */
  report: Report;
  /** The position for other messages to refer to: `config/postern.yaml:12`. */
  place: () => string;
  /** The folder that relative paths start from. */
  folder: string;
}>;

/** A check of the field `at` against other fields and settings. */
export type Rule<F, C> = Readonly<{
  at: `${keyof F & string}${'' | `.${string}`}`;
  fault: (form: F, context: C) => string | undefined;
}>;

type OfUsers<K extends string> = { readonly [one in K]?: unknown } & {
  readonly grant_types: readonly string[];
};

/** The rule for a key that a client_credentials client can't have. */
export const forUsers = <K extends string>(at: K) => ({
  at,
  fault: (client: OfUsers<K>) =>
    client[at] !== undefined && client.grant_types.includes('client_credentials')
      ? 'applies to users only, and a client_credentials client has none: remove it'
      : undefined,
});

export type ScopeOwners = Readonly<{
  /** The resource that owns a scope. */
  apiOf: (scope: string) => unknown;
  /** The scopes that belong to no resource. */
  userScopes: readonly string[];
}>;

/** Finds scopes of a client that neither a resource nor the issuer defines. */
export function foreignScopesFault(
  scope: readonly string[],
  { apiOf, userScopes }: ScopeOwners,
): string | undefined {
  const unknown = scope.filter((token) => !userScopes.includes(token) && apiOf(token) === undefined);
  if (unknown.includes('groups')) return 'has the scope "groups", but no groups are defined';
  return unknown.length === 0
    ? undefined
    : `has unknown scopes: ${unknown.map(quoted).join(', ')}. Add them to the scopes of a resource, or remove them`;
}

/** Reports each of `names`, a list or the keys of a map, that isn't `known`. */
export function reportUnknown(
  { report }: Entry<object>,
  path: Path,
  names: readonly string[] | Readonly<Record<string, unknown>> = [],
  [known, say]: readonly [known: { has(name: string): boolean }, say: (quotedName: string) => string],
): void {
  const isList = Array.isArray(names);
  for (const [index, name] of (isList ? (names as readonly string[]) : Object.keys(names)).entries())
    if (!known.has(name)) report([...path, isList ? index : name], say(quoted(name)), 'key');
}

/** Returns the earlier entry with `key`, or undefined after noting `entry` as the first. */
export function earlier<E>(noted: Map<string, E>, key: string, entry: E): E | undefined {
  const first = noted.get(key);
  if (!first) noted.set(key, entry);
  return first;
}

/** `noted`: earlier names, by lookOf. */
export function lookFault(noted: Map<string, string>, name: string): string | undefined {
  const first = earlier(noted, lookOf(name), name) ?? name;
  return first === name
    ? undefined
    : `${quoted(name)} differs from ${quoted(first)} only in case or Unicode form: rename one`;
}
