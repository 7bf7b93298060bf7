// Who may do what. About users only; a service has the scopes that its entry says.
import { isUrlClient } from './client-id-url.ts';
import type { AccessSettings } from './config.ts';

/** Groups that the file doesn't define, which a user of the store may have, give nothing. */
export type Grouped = { readonly groups: readonly string[] };

type OfClient = { readonly clientId: string };
type OfApi = { readonly resource: string };

export type AccessRules = ReturnType<typeof createAccessRules>;

export function createAccessRules({ groups, clients, resources }: AccessSettings) {
  const ofClient = new Map(clients.map((client) => [client.clientId, client]));
  const ofResource = new Map(resources.map((api) => [api.resource, api]));

  return {
    /** False also for a client that isn't in the file, but for one by document, which can have no such rule. */
    mayUseClient(user: Grouped, { clientId }: OfClient): boolean {
      const client = ofClient.get(clientId);
      return client === undefined ? isUrlClient(clientId) : isIn(user, client.access?.groups);
    },
    /** Whether the user may have tokens for this API at all. False also for an API that isn't in the file. */
    mayUseResource(user: Grouped, { resource }: OfApi): boolean {
      const api = ofResource.get(resource);
      return api !== undefined && isIn(user, api.access?.groups);
    },
    /**
     * `scopes` without those that `scope_groups` of `resource` keeps from the user, in the same order. Scopes that aren't of
     * this API stay. It doesn't look at `access`: that is mayUseResource.
     */
    scopesLeft(user: Grouped, { resource }: OfApi, scopes: readonly string[]): readonly string[] {
      const rules = ofResource.get(resource)?.scopeGroups ?? {};
      return scopes.filter((scope) => !Object.hasOwn(rules, scope) || isIn(user, rules[scope]));
    },
    /** What the claim `groups` says of the user to this client: defined groups, sorted, cut to `groups_claim`. */
    groupsFor(user: Grouped, { clientId }: OfClient): readonly string[] {
      const client = ofClient.get(clientId);
      if (client === undefined && !isUrlClient(clientId)) return [];
      const isVisible = (name: string) =>
        Object.hasOwn(groups, name) && (client?.groupsClaim?.includes(name) ?? true);
      return [...new Set(user.groups.filter(isVisible))].toSorted();
    },
  };
}

/** No rule lets everybody in. */
const isIn = ({ groups }: Grouped, names: readonly string[] | undefined): boolean =>
  names === undefined || groups.some((name) => names.includes(name));
