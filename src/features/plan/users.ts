// Users who lose or gain access through a new configuration. Only users, clients, APIs and scopes of both are compared.
import { isDeepStrictEqual } from 'node:util';
import { createAccessRules } from '../../config/access-rules.ts';
import type { AccessSettings, SignInSettings, UserEntry } from '../../config/config.ts';
import { type Level, reaches } from '../../config/sign-in-levels.ts';
import { canonicalUsername } from '../../config/text.ts';

export type PlanItem = Readonly<{
  /** info: no change. change: a change. breaking: something that works now stops working. */
  severity: 'info' | 'change' | 'breaking';
  /** Where, such as `clients[web].redirect_uris`. */
  path: string;
  /** What changes. Never a secret. */
  message: string;
}>;

type Named = Omit<UserEntry, 'passwordHash'>;
type Side = AccessSettings & {
  readonly signIn?: SignInSettings;
  readonly users: readonly UserEntry[];
};

/** The users in the store, and the strongest sign-in of each user with the methods that are on. `none`: all of their factors are off. */
export type StoredUsers = Readonly<{
  users: readonly Named[];
  reachedBy: (signIn: Side['signIn'], accountId: string) => Level | 'none';
}>;

/** Whether access or usernames could differ, so that the users in the store must be compared. */
export function rulesDiffer(current: Side, next: Side): boolean {
  const rulesOf = ({ signIn, groups, users, clients, resources }: Side) => [
    signIn,
    users.map(({ username }) => username).toSorted(),
    Object.keys(groups).toSorted(),
    clients.map(({ clientId, access, signIn: own }) => [clientId, access, own]),
    resources.map(({ resource, access, scopeGroups }) => [resource, access, scopeGroups]),
  ];
  return !isDeepStrictEqual(rulesOf(current), rulesOf(next));
}

/** `stored` is undefined if the store wasn't read. Its users and all second factors are then ignored. */
export function planUsers(current: Side, next: Side, stored?: StoredUsers): PlanItem[] {
  const [before, after] = [usersOf(current, stored), usersOf(next, stored)];
  const pairs = [...before.values()].flatMap((was) => {
    const is = after.get(was.id);
    return is === undefined || was.disabled || is.disabled ? [] : [[was, is] as const];
  });
  const hidden = (stored?.users ?? []).filter(({ id }) => before.has(id) && !after.has(id));
  const later = thingsOf(next, stored?.reachedBy);
  const changes = [...thingsOf(current, stored?.reachedBy)].flatMap(([path, wasFor]) => {
    const isFor = later.get(path);
    if (!isFor) return [];
    const changed = pairs.flatMap(([was, is]) => (wasFor(was) === isFor(is) ? [] : was));
    const [lost, gained] = [changed.filter(wasFor), changed.filter((user) => !wasFor(user))];
    const isSignIn = path === 'sign_in';
    return [
      ...say('breaking', path, isSignIn ? "can't sign in without another factor" : 'lose access', lost),
      ...say('change', path, isSignIn ? 'can sign in' : 'gain access', gained),
    ];
  });
  return [...changes, ...say('breaking', 'users', 'are hidden by an entry with their username', hidden)];
}

/** If both have an id or username, the user in the file is used, as in createAccounts. */
function usersOf(side: Side, stored?: StoredUsers): ReadonlyMap<string, Named> {
  const nameOf = ({ username }: Named) => canonicalUsername(username);
  const names = new Set(side.users.map(nameOf));
  const visible = (stored?.users ?? []).filter((user) => !names.has(nameOf(user)));
  return new Map([...visible, ...side.users].map((user) => [user.id, user]));
}

function say(
  severity: PlanItem['severity'],
  path: string,
  what: string,
  users: readonly Named[],
): PlanItem[] {
  const names = users.slice(0, 10).map(({ username }) => username);
  if (users.length > names.length) names.push(`and ${users.length - names.length} more`);
  return users.length === 0 ? [] : [{ severity, path, message: `users who ${what}: ${names.join(', ')}` }];
}

/** Everything that rules can restrict, by its path in the file, with a test of a user's access. */
function thingsOf(side: Side, reachedBy: StoredUsers['reachedBy'] = () => 'passkey') {
  const rules = createAccessRules(side);
  const levelOf = ({ id }: Named) => reachedBy(side.signIn, id);
  const things = new Map<string, (user: Named) => boolean>();
  things.set('sign_in', (user) => {
    const level = levelOf(user);
    return level !== 'none' && (level !== 'password' || side.signIn?.secondFactor !== 'required');
  });
  for (const client of side.clients) {
    const { clientId, signIn } = client;
    things.set(`clients[${clientId}]`, (user) => {
      const level = levelOf(user);
      // A user who can't sign in at all is listed under sign_in only.
      const isStrong = signIn === undefined || level === 'none' || reaches(level, signIn.require);
      return isStrong && rules.mayUseClient(user, client);
    });
  }
  for (const resource of side.resources) {
    const path = `resources[${resource.resource}]`;
    things.set(path, (user) => rules.mayUseResource(user, resource));
    for (const name of resource.scopes)
      things.set(`${path}.scopes.${name}`, (user) => rules.scopesLeft(user, resource, [name]).length > 0);
  }
  return things;
}
