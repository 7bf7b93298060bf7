// What one person may use, and why, for the command line.
import { createAccessRules, type AccessRules, type Grouped } from './access-rules.ts';
import type { Config, Resource } from './config.ts';

export type Explained = { readonly name: string; readonly allowed: boolean; readonly why: string };
type ExplainedApi = Explained & { readonly scopes: readonly Explained[] };
type Ruled = Pick<Config, 'groups' | 'clients' | 'resources'>;

export type ExplainedAccess = {
  /** Those that people sign in to. */
  readonly apps: readonly Explained[];
  /** Each with the scopes that are for some people only. */
  readonly apis: readonly ExplainedApi[];
};

export function explainAccess(config: Ruled, person: Grouped): ExplainedAccess {
  const rules = createAccessRules(config);
  return {
    apps: config.clients
      .filter(({ grantTypes }) => grantTypes.includes('authorization_code'))
      .map((client) => ({
        name: client.clientId,
        allowed: rules.mayUseClient(person, client),
        why: why(person, client.access?.groups),
      })),
    apis: config.resources.map((resource) => explainApi(rules, person, resource)),
  };
}

function explainApi(rules: AccessRules, person: Grouped, resource: Resource): ExplainedApi {
  const allowed = rules.mayUseResource(person, resource);
  return {
    name: resource.resource,
    allowed,
    why: why(person, resource.access?.groups),
    scopes: Object.entries(resource.scopeGroups).map(([scope, groups]) => ({
      name: scope,
      allowed: allowed && rules.scopesLeft(person, resource, [scope]).length > 0,
      why: why(person, groups),
    })),
  };
}

function why({ groups }: Grouped, names: readonly string[] | undefined): string {
  if (names === undefined) return 'for everybody';
  const own = names.filter((name) => groups.includes(name));
  return own.length > 0 ? `in ${own.join(', ')}` : `only for ${names.join(', ')}`;
}
