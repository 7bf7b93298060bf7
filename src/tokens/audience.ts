// Which APIs an access token is for, and how long it lives there. Pure; owns the rule of audience from scopes
// (RFC 9068 §3, RFC 8707 §2), not the grant of a scope.
import type { Resource } from '../config/config.ts';

export type Audience = string | readonly string[];

export type AudienceRules = {
  /** `aud` for these scopes when no `resource` was asked for. */
  readonly audienceOf: (scopes: Iterable<string>) => Audience;
  /** Seconds that a token for this audience may live: the shortest of what its APIs allow. */
  readonly lifetimeOf: (audience: Audience) => number;
  readonly findResource: (identifier: string) => Resource | undefined;
};

/** `defaultLifetime` in seconds, for audiences without one of their own. */
export function createAudienceRules(
  issuer: string,
  resources: readonly Resource[],
  defaultLifetime: number,
): AudienceRules {
  const byIdentifier = new Map(resources.map((resource) => [resource.resource, resource]));
  const ownerOfScope = new Map(
    resources.flatMap(({ resource, scopes }) => scopes.map((scope) => [scope, resource] as const)),
  );

  const lifetimeAt = (one: string) => byIdentifier.get(one)?.accessToken ?? defaultLifetime;

  return {
    audienceOf(scopes) {
      const audience = new Set<string>();
      let openid = false;
      for (const scope of scopes) {
        const owner = ownerOfScope.get(scope);
        if (owner !== undefined) audience.add(owner);
        openid ||= scope === 'openid';
      }
      // The issuer is an audience itself where userinfo answers, and RFC 9068 §2.2 wants an `aud` in every token.
      if (openid || audience.size === 0) audience.add(issuer);
      const [first, ...others] = audience;
      return first !== undefined && others.length === 0 ? first : [...audience];
    },
    lifetimeOf(audience) {
      return typeof audience === 'string' ? lifetimeAt(audience) : Math.min(...audience.map(lifetimeAt));
    },
    findResource: (identifier) => byIdentifier.get(identifier),
  };
}
