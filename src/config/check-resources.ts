// The rules between resources, and between a resource and the issuer or the clients.
import type { Parts } from './check-access.ts';
import { earlier, type Entry, lookFault, reportUnknown } from './rules.ts';
import type { ResourceForm } from './schema-client.ts';
import { lookOf } from './text.ts';
import { resourceKey } from './uri.ts';

/** `userScopes`: those that no resource can own. */
export function checkResources({ service, clients, resources }: Parts, userScopes: readonly string[]): void {
  const owners = new Map<string, Entry<ResourceForm>>();
  const places = new Map<string, Entry<ResourceForm>>();
  const methods = new Map(
    clients.list.map(({ value }) => [value.client_id, value.token_endpoint_auth_method]),
  );
  const noted = new Map(userScopes.map((scope) => [lookOf(scope), scope]));
  for (const entry of resources.list) {
    const { value, report } = entry;
    // The issuer is the audience of tokens for the service itself.
    const key = resourceKey(value.resource);
    if (key.replace(/\/$/, '') === service.value.issuer) report(['resource'], 'must not be the issuer');
    const first = earlier(places, key, entry);
    if (first) report(['resource'], `is already defined at ${first.place()}`);
    for (const [index, scope] of value.scopes.entries()) {
      const path = ['scopes', index];
      const owner = earlier(owners, scope, entry);
      const alike = lookFault(noted, scope);
      if (userScopes.includes(scope)) report(path, `"${scope}" belongs to the issuer: choose another name`);
      else if (alike) report(path, alike);
      // The audience of a token follows from its scopes, so each scope must belong to one API.
      else if (owner) report(path, `"${scope}" already belongs to the resource at ${owner.place()}`);
    }
    for (const at of ['default_scopes', 'scope_descriptions', 'scope_groups'] as const)
      reportUnknown(entry, [at], value[at], [new Set(value.scopes), unknownScope]);
    if (value.clients.length > 0 && value.scopes.length > 0)
      report(['clients'], 'is only for a resource without scopes: give clients a scope instead');
    else if (clients.isWhole) checkClients(entry, methods);
  }
}

const unknownClient = (name: string) => `unknown client ${name}: add it to clients`;
const unknownScope = (name: string) => `unknown scope ${name}: add it to the scopes of this resource`;

function checkClients(entry: Entry<ResourceForm>, methods: ReadonlyMap<string, string>): void {
  for (const key of ['clients', 'introspection_clients'] as const)
    reportUnknown(entry, [key], entry.value[key], [methods, unknownClient]);
  for (const [index, id] of entry.value.introspection_clients.entries()) {
    if (methods.get(id) === 'none')
      entry.report(
        ['introspection_clients', index],
        `"${id}" is a public client: only a confidential client can introspect tokens (RFC 7662 §2.1)`,
      );
  }
}
