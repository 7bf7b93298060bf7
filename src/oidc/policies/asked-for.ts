// What an app asks a user for, and what a user allowed it.
import type { Grant, KoaContextWithOIDC } from 'oidc-provider';

/** In a grant: the user allowed an API that has no scopes. No scope can have quotes (RFC 6749 §3.3), so none is granted by it. */
export const WHOLE_API = '"whole"';

export type AskedFor = Readonly<{
  /** Those of APIs, too. */
  scopes: readonly string[];
  resourceScopes: Readonly<Record<string, readonly string[]>>;
}>;

export function askedFor({ oidc }: KoaContextWithOIDC): AskedFor {
  const asked = [...oidc.requestParamScopes];
  const ofResource = Object.entries(oidc.resourceServers ?? {}).map(([resource, { scope, scopes }]) => [
    resource,
    scope === '' ? [WHOLE_API] : asked.filter((one) => scopes.has(one)),
  ]);
  return {
    scopes: [...oidc.requestParamOIDCScopes],
    resourceScopes: Object.fromEntries(ofResource),
  };
}

const union = (lists: readonly (readonly string[])[]) => [...new Set(lists.flat())];

/** All of it together, each once. */
export function joinAsked(all: readonly AskedFor[]): AskedFor {
  const resources = new Set(all.flatMap(({ resourceScopes }) => Object.keys(resourceScopes)));
  const of = (resource: string) => union(all.map(({ resourceScopes }) => resourceScopes[resource] ?? []));
  return {
    scopes: union(all.map(({ scopes }) => scopes)),
    resourceScopes: Object.fromEntries([...resources].map((one) => [one, of(one)])),
  };
}

export function addToGrant(grant: Grant, { scopes, resourceScopes }: AskedFor): void {
  if (scopes.length > 0) grant.addOIDCScope(scopes.join(' '));
  for (const [resource, owned] of Object.entries(resourceScopes)) {
    if (owned.length > 0) grant.addResourceScope(resource, owned.join(' '));
  }
}

/** For good, with all that came of it. */
export async function endGrantOf(ctx: KoaContextWithOIDC): Promise<void> {
  const { Grant: grant } = ctx.oidc.entities;
  await grant?.destroy();
  ctx.oidc.provider.emit('grant.revoked', ctx, grant?.jti ?? '');
}
