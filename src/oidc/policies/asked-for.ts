// What an app asks a user for, and what a user allowed it.
import type { Grant, KoaContextWithOIDC } from 'oidc-provider';

/** Marks in a grant an allowed API without scopes. No scope can contain quotes (RFC 6749 §3.3), so the mark grants none. */
export const WHOLE_API = '"whole"';

export type AskedFor = Readonly<{
  /** Includes the scopes of APIs. */
  scopes: readonly string[];
  resourceScopes: Readonly<Record<string, readonly string[]>>;
}>;

export function askedFor({ oidc }: KoaContextWithOIDC): AskedFor {
  const asked = [...oidc.requestParamScopes];
  const ofResource = Object.entries(oidc.resourceServers ?? {}).map(([resource, { scope, scopes }]) => [
    resource,
    scope === '' ? [WHOLE_API] : asked.filter((one) => scopes.has(one)),
  ]);
  return { scopes: [...oidc.requestParamOIDCScopes], resourceScopes: Object.fromEntries(ofResource) };
}

const union = (lists: readonly (readonly string[])[]) => [...new Set(lists.flat())];

/** Joins all of them, without duplicates. */
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

/** Revokes the request's grant for good, with everything issued from it. */
export async function endGrantOf(ctx: KoaContextWithOIDC): Promise<void> {
  const { Grant: grant } = ctx.oidc.entities;
  await grant?.destroy();
  ctx.oidc.provider.emit('grant.revoked', ctx, grant?.jti ?? '');
}
