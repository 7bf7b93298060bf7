// What a change means for the APIs that accept our tokens, whose identifier is the audience of those. Owns the words.
import type { Config, Resource } from './config.ts';
import { compareDurations, compareLists, compareRest, item } from './plan-items.ts';
import { tokenLifeWords } from './plan-service.ts';
import type { PlanItem, Sides } from './plan.ts';

export function planResources({ current, next }: Sides<Pick<Config, 'resources' | 'lifetimes'>>): PlanItem[] {
  const owners = { current: ownersOf(current.resources), next: ownersOf(next.resources) };
  const before = new Map(current.resources.map((entry) => [entry.resource, entry]));
  const after = new Map(next.resources.map((entry) => [entry.resource, entry]));
  return [
    ...current.resources.flatMap((entry) =>
      after.has(entry.resource) ? [] : planRemoved(entry, owners.next),
    ),
    ...next.resources.flatMap((entry) => {
      const path = `resources[${entry.resource}]`;
      const old = before.get(entry.resource);
      if (old === undefined) return item('change', path, 'is new');
      const life = {
        current: old.accessToken ?? current.lifetimes.accessToken,
        next: entry.accessToken ?? next.lifetimes.accessToken,
      };
      return [
        ...planScopes(old, entry, owners),
        ...compareLists(
          `${path}.introspection_clients`,
          { current: old.introspectionClients, next: entry.introspectionClients },
          { dropped: 'is dropped: it sees every token of this API as inactive' },
        ),
        // When both follow lifetimes.access_token, that key has said it.
        ...(old.accessToken === undefined && entry.accessToken === undefined
          ? []
          : compareDurations(
              `${path}.access_token`,
              life,
              tokenLifeWords(next.lifetimes.idToken, life.next),
            )),
        ...compareRest((key) => `${path}.${key}`, { current: old, next: entry }, SPOKEN_FOR),
      ];
    }),
  ];
}

const SPOKEN_FOR = [
  'resource',
  'scopes',
  'introspectionClients',
  'accessToken',
] as const satisfies readonly (keyof Resource)[];

type Owners = Sides<ReadonlyMap<string, string>>;

function ownersOf(resources: readonly Resource[]): ReadonlyMap<string, string> {
  return new Map(
    resources.flatMap(({ resource, scopes }) => scopes.map((scope) => [scope, resource] as const)),
  );
}

function planRemoved({ resource, scopes }: Resource, ownersAfter: ReadonlyMap<string, string>): PlanItem[] {
  const path = `resources[${resource}]`;
  const heirs = [...new Set(scopes.map((scope) => ownersAfter.get(scope)))];
  const [heir] = heirs;
  return heirs.length === 1 && heir !== undefined
    ? item(
        'breaking',
        path,
        `is renamed: the audience of its tokens becomes ${heir}, which the API must accept first`,
      )
    : item('breaking', path, 'is removed: no more tokens are issued for this API');
}

function planScopes(old: Resource, entry: Resource, owners: Owners): PlanItem[] {
  const path = `resources[${entry.resource}].scopes`;
  return [
    ...old.scopes.flatMap((scope) => {
      const owner = owners.next.get(scope);
      if (owner === entry.resource) return [];
      return owner === undefined
        ? item('breaking', path, `${scope} is dropped: requests for it are refused`)
        : item('breaking', path, `${scope} moves to ${owner}, and so does the audience of its tokens`);
    }),
    ...entry.scopes.flatMap((scope) =>
      owners.current.has(scope) ? [] : item('change', path, `${scope} is new`),
    ),
  ];
}
