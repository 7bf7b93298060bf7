// Who may do what, compiled when the file is read: a question costs what the user's own groups cost, however many users and
// groups there are. About users only; a service has the scopes that its entry says.
import { isUrlClient } from './client-id-url.ts';
import type { AccessSettings } from './config.ts';

/** Groups that the file doesn't define, which a user of the store may have, give nothing. */
export type Grouped = { readonly groups: readonly string[] };

type OfClient = { readonly clientId: string };
type OfApi = { readonly resource: string };

export type AccessRules = ReturnType<typeof createAccessRules>;

type Names = ReadonlySet<string> | undefined;

export function createAccessRules({ groups, clients, resources }: AccessSettings) {
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
    /** False also for a client that isn't in the file, but for one by document, which can have no such rule. */
    mayUseClient(user: Grouped, { clientId }: OfClient): boolean {
      const rule = ofClient.get(clientId);
      return rule === undefined ? isUrlClient(clientId) : isIn(user, rule.access);
    },
    /** Whether the user may have tokens for this API at all. False also for an API that isn't in the file. */
    mayUseResource(user: Grouped, { resource }: OfApi): boolean {
      const rule = ofResource.get(resource);
      return rule !== undefined && isIn(user, rule.access);
    },
    /**
     * `scopes` without those that `scope_groups` of `resource` keeps from the user, in the same order. Scopes that aren't of
     * this API stay. It doesn't look at `access`: that is mayUseResource.
     */
    scopesLeft(user: Grouped, { resource }: OfApi, scopes: readonly string[]): readonly string[] {
      const rules = ofResource.get(resource)?.scopes;
      return rules === undefined || rules.size === 0
        ? scopes
        : scopes.filter((scope) => isIn(user, rules.get(scope)));
    },
    /** What the claim `groups` says of the user to this client: defined groups, sorted, cut to `groups_claim`. */
    groupsFor(user: Grouped, { clientId }: OfClient): readonly string[] {
      const rule = ofClient.get(clientId);
      if (rule === undefined && !isUrlClient(clientId)) return [];
      const visible = user.groups.filter((name) => defined.has(name) && (rule?.visible?.has(name) ?? true));
      return [...new Set(visible)].toSorted();
    },
  };
}

const namesOf = (names: readonly string[] | undefined): Names => names && new Set(names);

/** No rule lets everybody in. */
const isIn = ({ groups }: Grouped, names: Names): boolean =>
  names === undefined || groups.some((name) => names.has(name));
