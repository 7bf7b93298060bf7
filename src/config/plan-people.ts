// Who loses and who gains an app, an API or a scope when another configuration takes over: people and things that are in both.
import { createAccessRules, type Grouped } from './access-rules.ts';
import type { Config, User } from './config.ts';
import { listedNames } from './wording.ts';
import type { PlanItem } from './plan-severity.ts';

type Ruled = Pick<Config, 'groups' | 'clients' | 'resources'>;
type Named = Grouped & Pick<User, 'id' | 'username'>;
type Thing = { readonly path: string; readonly name: string; readonly isFor: (person: Grouped) => boolean };

const OF_FILE = 'of the file';

/** People of the file, with their groups of each side. */
export function planFilePeople(
  current: Ruled & Pick<Config, 'users'>,
  next: Ruled & Pick<Config, 'users'>,
): PlanItem[] {
  const later = new Map(next.users.map((user) => [user.id, user]));
  const pairs = current.users.flatMap((before) => {
    const after = later.get(before.id);
    return after === undefined || before.disabled || after.disabled ? [] : [[before, after] as const];
  });
  return compare([current, next], pairs, OF_FILE);
}

/** People of the store, but for those whose place the file has taken: their groups stay. */
export function planStorePeople(
  current: Ruled & Pick<Config, 'users'>,
  next: Ruled,
  people: readonly Named[],
): PlanItem[] {
  const ofFile = new Set(current.users.map(({ id }) => id));
  const pairs = people.filter(({ id }) => !ofFile.has(id)).map((person) => [person, person] as const);
  return compare([current, next], pairs, 'of the store');
}

/** Whether the two let anybody else in, so that people of the store have to be looked at. */
export function rulesDiffer(current: Ruled, next: Ruled): boolean {
  const rulesOf = ({ groups, clients, resources }: Ruled) =>
    JSON.stringify([
      Object.keys(groups).toSorted(),
      clients.map(({ clientId, access }) => [clientId, access]),
      resources.map(({ resource, access, scopeGroups }) => [resource, access, scopeGroups]),
    ]);
  return rulesOf(current) !== rulesOf(next);
}

function compare(
  [current, next]: readonly [Ruled, Ruled],
  people: readonly (readonly [before: Named, after: Named])[],
  where: string,
): PlanItem[] {
  const later = thingsOf(next);
  return [...thingsOf(current)].flatMap(([key, before]) => {
    const after = later.get(key);
    if (after === undefined) return [];
    const changed = people.map(([was, is]) => [is.username, before.isFor(was), after.isFor(is)] as const);
    const lose = changed.filter(([, had, has]) => had && !has).map(([name]) => name);
    const gain = changed.filter(([, had, has]) => !had && has).map(([name]) => name);
    return [
      ...say('breaking', after, lose, ['loses', 'lose'], where),
      ...say('change', after, gain, ['gains', 'gain'], where),
    ];
  });
}

/** Everything that a rule can keep from a person. */
function thingsOf(config: Ruled): ReadonlyMap<string, Thing> {
  const rules = createAccessRules(config);
  const things = new Map<string, Thing>();
  const add = (thing: Thing) => things.set(thing.path, thing);
  for (const client of config.clients) {
    const isFor = (person: Grouped) => rules.mayUseClient(person, client);
    add({ path: `clients[${client.clientId}].access`, name: client.clientId, isFor });
  }
  for (const resource of config.resources) {
    const path = `resources[${resource.resource}]`;
    const isFor = (person: Grouped) => rules.mayUseResource(person, resource);
    add({ path: `${path}.access`, name: resource.resource, isFor });
    for (const name of resource.scopes) {
      const hasScope = (person: Grouped) => rules.scopesLeft(person, resource, [name]).length > 0;
      add({ path: `${path}.scope_groups.${name}`, name, isFor: hasScope });
    }
  }
  return things;
}

function say(
  severity: PlanItem['severity'],
  { path, name }: Thing,
  names: readonly string[],
  [one, many]: readonly [string, string],
  where: string,
): PlanItem[] {
  const [first, another] = names;
  if (first === undefined) return [];
  const who = where === OF_FILE ? first : `${first} ${where}`;
  const message =
    another === undefined
      ? `${who} ${one} ${name}`
      : `${names.length} people ${where} ${many} ${name} (${listedNames(names)})`;
  return [{ severity, path, message }];
}
