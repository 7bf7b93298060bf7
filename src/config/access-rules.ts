// The access rules of users: which clients, APIs and scopes they may use. A client_credentials client has the scopes of its entry.
import { isUrlClient } from './client-id-url.ts';
import type { AccessSettings } from './config.ts';

/** A user in the store may have groups that the file doesn't define. These give no access. */
export type Grouped = { readonly groups: readonly string[] };

type OfClient = { readonly clientId: string };
type OfApi = { readonly resource: string };

export type AccessRules = ReturnType<typeof createAccessRules>;

export function createAccessRules({ groups, clients, resources }: AccessSettings) {
  const ofClient = new Map(clients.map((client) => [client.clientId, client]));
  const ofResource = new Map(resources.map((api) => [api.resource, api]));

  return {
    /** False also for a client that isn't in the file. True for a client by metadata document, which can't have this rule. */
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
     * Removes the scopes that `scope_groups` of `resource` denies the user, and keeps the order. Scopes of other APIs stay.
     * Doesn't check `access`: mayUseResource does.
     */
    scopesLeft(user: Grouped, { resource }: OfApi, scopes: readonly string[]): readonly string[] {
      const rules = ofResource.get(resource)?.scopeGroups ?? {};
      return scopes.filter((scope) => !Object.hasOwn(rules, scope) || isIn(user, rules[scope]));
    },
    /** The `groups` claim for this client: the user's groups that the file defines, sorted, limited to `groups_claim`. */
    groupsFor(user: Grouped, { clientId }: OfClient): readonly string[] {
      const client = ofClient.get(clientId);
      if (client === undefined && !isUrlClient(clientId)) return [];
      const isVisible = (name: string) =>
        Object.hasOwn(groups, name) && (client?.groupsClaim?.includes(name) ?? true);
      return [...new Set(user.groups.filter(isVisible))].toSorted();
    },
  };
}

/** Without a rule, every user has access. */
const isIn = ({ groups }: Grouped, names: readonly string[] | undefined) =>
  names === undefined || groups.some((name) => names.includes(name));
