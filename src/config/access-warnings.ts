// What a file with groups and claims may mean otherwise than its author thinks, and what is no fault.
import { type AccessRules, createAccessRules } from './access-rules.ts';
import { claimsOfScopes, isTooLong } from './claims-of-scopes.ts';
import { type Client, type Config, personScopes, type User } from './config.ts';
import { STANDARD_CLAIMS } from './schema-user.ts';
import { didYouMean } from './wording.ts';

/** In one list. */
const MAX_NAMED = 10;

type Ruled = Pick<Config, 'groups' | 'scopes' | 'clients' | 'clientDocuments' | 'resources' | 'users'>;

export function accessWarnings(config: Ruled): string[] {
  return [...unusedClaims(config), ...claimsWithoutScope(config), ...longIdTokens(config)];
}

/** A claim that no client can get. */
function unusedClaims({ scopes, clients, clientDocuments }: Ruled): string[] {
  const asked = new Set([...clients.flatMap((client) => client.scopes), ...(clientDocuments?.scope ?? [])]);
  const given = Object.entries(scopes).flatMap(([scope, { claims }]) =>
    claims.map((claim) => [claim, scope] as const),
  );
  return [...Map.groupBy(given, ([claim]) => claim)].flatMap(([claim, pairs]) => {
    const names = pairs.map(([, scope]) => scope);
    return names.some((scope) => asked.has(scope))
      ? []
      : [`no app gets the claim ${claim}: no client has the scope ${names.join(' or ')}`];
  });
}

/** A claim of people that no scope gives. */
function claimsWithoutScope({ scopes, users }: Ruled): string[] {
  const given = Object.values(scopes).flatMap(({ claims }) => claims);
  const known = new Set([...given, ...STANDARD_CLAIMS]);
  const names = users.flatMap(({ claims }) => Object.keys(claims)).filter((name) => !known.has(name));
  return [...Map.groupBy(names, (name) => name)].map(
    ([name, all]) =>
      `no scope gives the claim ${name}, which ${counted(all.length)}${didYouMean(name, given)}`,
  );
}

const counted = (people: number) => (people === 1 ? '1 person has' : `${people} people have`);

/** People whose ID token goes without groups. */
function longIdTokens(config: Ruled): string[] {
  const ownScopes = new Set(personScopes(config));
  // The ID token has the claims where the file says so, and where the access token is for an API and opens no userinfo.
  const clients = config.clients.filter(
    ({ scopes, idTokenClaims }) =>
      scopes.includes('groups') &&
      (idTokenClaims === 'full' || scopes.some((scope) => !ownScopes.has(scope))),
  );
  const [rules, byScope] = [createAccessRules(config), claimsOfScopes(config)];
  const long = config.users
    .filter(({ groups, claims }) => groups.length > 0 && isTooLong({ ...claims, groups }))
    .flatMap((user) => {
      const some = clients.filter((client) => isTooLong(claimsFor(user, client, { byScope, rules })));
      const [first] = some;
      if (first === undefined) return [];
      const more = some.length > 1 ? ` and ${some.length - 1} more` : '';
      return [
        `the ID token of ${user.username} for ${first.clientId}${more} would be above 8 KB, so it has no groups; userinfo has them`,
      ];
    });
  const left = long.length - MAX_NAMED;
  return left > 0
    ? [...long.slice(0, MAX_NAMED), `the ID tokens of ${left} more people would be above 8 KB, too`]
    : long;
}

function claimsFor(
  user: User,
  client: Client,
  { byScope, rules }: { readonly byScope: ReturnType<typeof claimsOfScopes>; readonly rules: AccessRules },
): Readonly<Record<string, unknown>> {
  const given = new Set(client.scopes.flatMap((scope) => byScope[scope] ?? []));
  const claims = Object.entries(user.claims).filter(([name]) => given.has(name));
  return { ...Object.fromEntries(claims), groups: rules.groupsFor(user, client) };
}
