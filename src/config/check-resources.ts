// The rules between resources, and between a resource and the issuer or the clients.
import { isRecord } from './parse-fields.ts';
import { earlier, type Entry } from './rules.ts';
import type { ClientForm, ResourceForm } from './schema-client.ts';
import { didYouMean } from './wording.ts';
import { resourceKey } from './uri.ts';

/** What the rules know of the rest of the configuration. */
type ResourceContext = {
  /** Normalized; undefined when it wasn't understood. */
  readonly issuer: string | undefined;
  readonly clients: readonly Entry<ClientForm>[];
  /** Scopes that no resource can own. */
  readonly personScopes: readonly string[];
  /** Whether every file with clients could be read, so that a client that isn't there doesn't exist. */
  readonly clientsAreKnown: boolean;
};

/** Every scope that a resource lists, even in an entry with other mistakes, and that resource. */
export function ownersOf(
  resources: readonly Entry<ResourceForm>[],
): ReadonlyMap<string, Entry<ResourceForm>> {
  return new Map(resources.flatMap((entry) => claimedScopes(entry).map((scope) => [scope, entry] as const)));
}

function claimedScopes({ value, node }: Entry<ResourceForm>): readonly string[] {
  const said = value.scopes ?? (isRecord(node) ? node['scopes'] : undefined);
  return Array.isArray(said) ? said.filter((scope) => typeof scope === 'string') : [];
}

export function checkResources(resources: readonly Entry<ResourceForm>[], context: ResourceContext): void {
  const owners = new Map<string, Entry<ResourceForm>>();
  const places = new Map<string, Entry<ResourceForm>>();
  const clients = new Map(context.clients.map((client) => [client.value.client_id, client]));
  for (const entry of resources) {
    checkIdentifier(entry, places, context.issuer);
    checkScopes(entry, owners, context.personScopes);
    checkOwnScopes(entry);
    checkClients(entry, context.clientsAreKnown ? clients : undefined);
    if (context.clientsAreKnown) checkIntrospectionClients(entry, clients);
  }
}

function checkIdentifier(
  entry: Entry<ResourceForm>,
  places: Map<string, Entry<ResourceForm>>,
  issuer: string | undefined,
): void {
  const { resource } = entry.value;
  if (resource === undefined) return;
  const path = ['resource'];
  // The issuer is the audience of tokens for the service itself.
  const key = resourceKey(resource);
  if (key.replace(/\/$/, '') === issuer) entry.report(path, 'must not be the issuer');
  const first = earlier(places, key, entry);
  if (first !== undefined) entry.report(path, `is already described at ${first.place}`);
}

function checkScopes(
  entry: Entry<ResourceForm>,
  owners: Map<string, Entry<ResourceForm>>,
  personScopes: readonly string[],
): void {
  for (const [index, scope] of (entry.value.scopes ?? []).entries()) {
    const path = ['scopes', index];
    const owner = earlier(owners, scope, entry);
    if (personScopes.includes(scope))
      entry.report(path, `${scope} belongs to the issuer, no resource can own it`);
    // The audience of a token follows from its scopes, so each must lead to one API.
    else if (owner !== undefined)
      entry.report(path, `${scope} already belongs to the resource at ${owner.place}`);
  }
}

/** What is described, what a request for an API gets by itself, and what a rule keeps from some people, is the API's own. */
function checkOwnScopes({ value, report }: Entry<ResourceForm>): void {
  const { scopes, scope_descriptions: descriptions = {}, default_scopes: defaults = [] } = value;
  if (scopes === undefined) return;
  const isForeign = (scope: string) => !scopes.includes(scope);
  const fault = (scope: string) => `${scope} is no scope of this resource${didYouMean(scope, scopes)}`;
  for (const scope of Object.keys(descriptions).filter(isForeign)) {
    report(['scope_descriptions', scope], fault(scope));
  }
  for (const [index, scope] of defaults.entries()) {
    if (isForeign(scope)) report(['default_scopes', index], fault(scope));
  }
  for (const scope of Object.keys(value.scope_groups ?? {}).filter(isForeign)) {
    report(['scope_groups', scope], fault(scope), 'key');
  }
}

type Clients = ReadonlyMap<string | undefined, Entry<ClientForm>>;

/** `clients` is undefined while not every client is known. */
function checkClients(entry: Entry<ResourceForm>, clients: Clients | undefined): void {
  const { clients: named = [], scopes } = entry.value;
  if (scopes === undefined) return;
  if (named.length > 0 && scopes.length > 0) {
    const message = 'is for a resource without scopes: give the client one of the scopes instead';
    entry.report(['clients'], message);
    return;
  }
  for (const [index, id] of named.entries()) {
    if (clients?.has(id) === false) entry.report(['clients', index], `there is no client ${id}`);
  }
}

function checkIntrospectionClients(entry: Entry<ResourceForm>, clients: Clients): void {
  const { introspection_clients: named = [] } = entry.value;
  for (const [index, id] of named.entries()) {
    const client = clients.get(id);
    const path = ['introspection_clients', index];
    if (client === undefined) entry.report(path, `there is no client ${id}`);
    else if (client.value.token_endpoint_auth_method === 'none') {
      entry.report(path, `${id} is a public client: only a confidential one can introspect (RFC 7662 §2.1)`);
    }
  }
}
