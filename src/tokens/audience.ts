// Which API an access token is for, and its lifetime there (RFC 9068 §3, RFC 8707 §2). oidc/policies/scopes.ts decides who may ask.
import type { Resource } from '../config/config.ts';
import { resourceKey } from '../config/uri.ts';

export type Audience = string | readonly string[];

export type AudienceRules = ReturnType<typeof createAudienceRules>;

/**
 * `defaultLifetime` in seconds, for audiences without their own. `longest`: the longest lifetime of each audience so far in this process,
 * because a reload doesn't end tokens.
 */
export function createAudienceRules(
  issuer: string,
  resources: readonly Resource[],
  defaultLifetime: number,
  longest = new Map<string, number>(),
) {
  const byKey = new Map(resources.map((resource) => [resourceKey(resource.resource), resource]));
  // By the configuration's spelling, which every token has.
  const byName = new Map(resources.map((resource) => [resource.resource, resource]));
  /** Accepts any spelling of scheme and host. */
  const findResource = (identifier: string): Resource | undefined =>
    byName.get(identifier) ?? byKey.get(resourceKey(identifier));
  const ownerOfScope = new Map(
    resources.flatMap(({ resource, scopes }) => scopes.map((scope) => [scope, resource] as const)),
  );

  const lifetimeAt = (one: string) => findResource(one)?.accessToken ?? defaultLifetime;

  for (const one of [issuer, ...byName.keys()])
    longest.set(one, Math.max(longest.get(one) ?? 0, lifetimeAt(one)));

  /** The resources that own these scopes, each once. A token may be for one of them at most (RFC 9068 §3). */
  function ownersOf(scopes: Iterable<string>): string[] {
    const owners = new Set([...scopes].map((scope) => ownerOfScope.get(scope)));
    return [...owners].filter((owner) => owner !== undefined);
  }

  return {
    /** `aud` for these scopes when no `resource` was asked for. */
    audienceOf(scopes: Iterable<string>): Audience {
      const asked = [...scopes];
      const audience = ownersOf(asked);
      // The issuer is the audience of userinfo, and RFC 9068 §2.2 requires an `aud` in every token.
      if (asked.includes('openid') || audience.length === 0) audience.push(issuer);
      const [first, ...others] = audience;
      return first !== undefined && others.length === 0 ? first : audience;
    },
    /** The lifetime of a token for this audience, in seconds: the shortest that its APIs allow. */
    lifetimeOf(audience: Audience): number {
      return typeof audience === 'string' ? lifetimeAt(audience) : Math.min(...audience.map(lifetimeAt));
    },
    findResource,
    ownersOf,
    isPossible: (audience: Audience, seconds: number) =>
      [audience].flat().every((one) => {
        const name = one === issuer ? one : findResource(one)?.resource;
        return name !== undefined && seconds <= (longest.get(name) ?? 0);
      }),
    /** Whether a token with these scopes may be for this audience: one resource at most, and one of its scopes where it has any. */
    isBacked(audience: Audience, scopes: Iterable<string>, clientId: string): boolean {
      const found = [audience].flat().map(findResource);
      const [resource, ...others] = found.filter((one) => one !== undefined);
      if (resource === undefined || others.length > 0) return others.length === 0;
      return resource.scopes.length === 0
        ? resource.clients.includes(clientId)
        : ownersOf(scopes).includes(resource.resource);
    },
  };
}
