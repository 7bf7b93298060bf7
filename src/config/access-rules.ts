// Who may do what, compiled when the file is read: a question costs what the user's own groups cost, however many users and
// groups there are. About users only; a service has the scopes that its entry says.
import { isDocumentClient } from './client-id-url.ts';
import type { AccessSettings, Client, Resource, UserEntry } from './config.ts';

/** Groups that the file doesn't define, which a user of the store may have, give nothing. */
export type Grouped = Pick<UserEntry, 'groups'>;

export interface AccessRules {
  /** False also for a client that isn't in the file, but for one by document, which can have no such rule. */
  mayUseClient(user: Grouped, client: Pick<Client, 'clientId'>): boolean;
  /** Whether the user may have tokens for this API at all. False also for an API that isn't in the file. */
  mayUseResource(user: Grouped, resource: Pick<Resource, 'resource'>): boolean;
  /**
   * `scopes` without those that `scope_groups` of `resource` keeps from the user, in the same order. Scopes that aren't of
   * this API stay. It doesn't look at `access`: that is mayUseResource.
   */
  scopesLeft(
    user: Grouped,
    resource: Pick<Resource, 'resource'>,
    scopes: readonly string[],
  ): readonly string[];
  /** What the claim `groups` says of the user to this client: defined groups, sorted, cut to `groups_claim`. */
  groupsFor(user: Grouped, client: Pick<Client, 'clientId'>): readonly string[];
}

type Names = ReadonlySet<string> | undefined;

export function createAccessRules({ groups, clients, resources }: AccessSettings): AccessRules {
  const defined: ReadonlySet<string> = new Set(Object.keys(groups));
  const ofClient = new Map(
    clients.map(({ clientId, access, groupsClaim }) => [
      clientId,
      { access: namesOf(access?.groups), visible: namesOf(groupsClaim) },
    ]),
  );
  const ofResource = new Map(
    resources.map(({ resource, access, scopeGroups }) => [
      resource,
      {
        access: namesOf(access?.groups),
        scopes: new Map(Object.entries(scopeGroups).map(([scope, names]) => [scope, new Set(names)])),
      },
    ]),
  );

  return {
    mayUseClient(user, { clientId }) {
      const rule = ofClient.get(clientId);
      return rule === undefined ? isDocumentClient(clientId) : isIn(user, rule.access);
    },
    mayUseResource(user, { resource }) {
      const rule = ofResource.get(resource);
      return rule !== undefined && isIn(user, rule.access);
    },
    scopesLeft(user, { resource }, scopes) {
      const rules = ofResource.get(resource)?.scopes;
      return rules === undefined || rules.size === 0
        ? scopes
        : scopes.filter((scope) => isIn(user, rules.get(scope)));
    },
    groupsFor(user, { clientId }) {
      const rule = ofClient.get(clientId);
      if (rule === undefined && !isDocumentClient(clientId)) return [];
      const visible = user.groups.filter((name) => defined.has(name) && (rule?.visible?.has(name) ?? true));
      return [...new Set(visible)].toSorted();
    },
  };
}

const namesOf = (names: readonly string[] | undefined): Names => names && new Set(names);

/** No rule lets everybody in. */
function isIn({ groups }: Grouped, names: Names): boolean {
  return names === undefined || groups.some((name) => names.has(name));
}
