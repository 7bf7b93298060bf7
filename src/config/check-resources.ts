// Which resources contradict each other, the issuer or the clients. Owns the rules between resources; fields by
// themselves are in schema-client.ts.
import { SPECIFICATION_SCOPES } from './config.ts';
import { isRecord } from './parse-fields.ts';
import { understood, type Entry } from './rules.ts';
import type { ClientForm, ResourceForm } from './schema-client.ts';
import { suggest } from './suggestion.ts';
import { resourceKey } from './uri.ts';

/** What the rules know of the rest of the configuration. */
export type ResourceContext = {
  /** Normalized; undefined when it wasn't understood. */
  readonly issuer: string | undefined;
  readonly clients: readonly Entry<ClientForm>[];
  /** Whether every file with clients could be read, so that a client that isn't there doesn't exist. */
  readonly clientsAreKnown: boolean;
};

/** Every scope that a resource means to own, even in an entry with other mistakes. */
export function scopesOf(resources: readonly Entry<ResourceForm>[]): Set<string> {
  return new Set(resources.flatMap(claimedScopes));
}

function claimedScopes({ value, node }: Entry<ResourceForm>): readonly string[] {
  const said = value.scopes ?? (isRecord(node) ? node['scopes'] : undefined);
  return Array.isArray(said) ? said.filter((scope) => typeof scope === 'string') : [];
}

/** Reports every contradiction in `resources`. */
export function checkResources(resources: readonly Entry<ResourceForm>[], context: ResourceContext): void {
  const owners = new Map<string, Entry<ResourceForm>>();
  const places = new Map<string, Entry<ResourceForm>>();
  const clients = new Map(context.clients.map((client) => [client.value.client_id, client]));
  for (const entry of resources) {
    checkIdentifier(entry, places, context.issuer);
    checkScopes(entry, owners);
    checkDescriptions(entry);
    checkClients(entry, context.clientsAreKnown ? clients : undefined);
    if (context.clientsAreKnown) checkIntrospectionClients(entry, clients);
  }
}

function checkIdentifier(
  entry: Entry<ResourceForm>,
  places: Map<string, Entry<ResourceForm>>,
  issuer: string | undefined,
): void {
  const resource = understood(entry, ['resource'])?.resource;
  if (resource === undefined) return;
  const path = [...entry.path, 'resource'];
  // The issuer is the audience of tokens for the service itself.
  const key = resourceKey(resource);
  if (key.replace(/\/$/, '') === issuer) entry.report(path, 'must not be the issuer');
  const first = places.get(key);
  if (first !== undefined) entry.report(path, `is already described at ${first.place}`);
  places.set(key, first ?? entry);
}

function checkScopes(entry: Entry<ResourceForm>, owners: Map<string, Entry<ResourceForm>>): void {
  const specified: readonly string[] = SPECIFICATION_SCOPES;
  for (const [index, scope] of (understood(entry, ['scopes'])?.scopes ?? []).entries()) {
    const path = [...entry.path, 'scopes', index];
    const owner = owners.get(scope);
    if (specified.includes(scope))
      entry.report(path, `${scope} belongs to the issuer, no resource can own it`);
    // The audience of a token follows from its scopes, so each must lead to one API.
    else if (owner !== undefined)
      entry.report(path, `${scope} already belongs to the resource at ${owner.place}`);
    owners.set(scope, owner ?? entry);
  }
}

function checkDescriptions(entry: Entry<ResourceForm>): void {
  const form = understood(entry, ['scopes', 'scope_descriptions']);
  for (const scope of Object.keys(form?.scope_descriptions ?? {})) {
    if (form?.scopes.includes(scope)) continue;
    const suggestion = suggest(scope, form?.scopes ?? []);
    const hint = suggestion === undefined ? '' : `: did you mean ${suggestion}?`;
    entry.report([...entry.path, 'scope_descriptions', scope], `is no scope of this resource${hint}`);
  }
}

type Clients = ReadonlyMap<string | undefined, Entry<ClientForm>>;

/** `clients` is undefined while not every client is known. */
function checkClients(entry: Entry<ResourceForm>, clients: Clients | undefined): void {
  const form = understood(entry, ['clients', 'scopes']);
  const named = form?.clients ?? [];
  if (named.length > 0 && form?.scopes.length !== 0) {
    const message = 'is for a resource without scopes: give the client one of the scopes instead';
    entry.report([...entry.path, 'clients'], message);
    return;
  }
  for (const [index, id] of named.entries()) {
    if (clients?.has(id) === false)
      entry.report([...entry.path, 'clients', index], `there is no client ${id}`);
  }
}

function checkIntrospectionClients(entry: Entry<ResourceForm>, clients: Clients): void {
  const named = understood(entry, ['introspection_clients'])?.introspection_clients ?? [];
  for (const [index, id] of named.entries()) {
    const client = clients.get(id);
    const path = [...entry.path, 'introspection_clients', index];
    if (client === undefined) entry.report(path, `there is no client ${id}`);
    else if (client.value.token_endpoint_auth_method === 'none') {
      entry.report(path, `${id} is a public client: only a confidential one can introspect (RFC 7662 §2.1)`);
    }
  }
}
