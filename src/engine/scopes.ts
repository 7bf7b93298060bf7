// Scope and resource policy (RFC 6749 §3.3, RFC 8707): what a client may ask for. Owns refusals that the engine would
// turn into silence; which audience results is tokens/audience.ts.
import { errors, type KoaContextWithOIDC, type ResourceServer } from 'oidc-provider';
import { SPECIFICATION_SCOPES, type Config } from '../config/config.ts';
import type { AudienceRules } from '../tokens/audience.ts';

type EngineClient = { readonly scope?: string | undefined };

export type ScopePolicy = {
  /** Every scope that exists: the specification's and those of the resources. */
  readonly known: ReadonlySet<string>;
  /** The engine's `defaultResource`: no resource was asked for. */
  readonly defaultResource: (
    ctx: KoaContextWithOIDC,
    client: EngineClient,
    oneOf?: readonly string[],
  ) => undefined;
  readonly getResourceServerInfo: (
    ctx: KoaContextWithOIDC,
    resource: string,
    client: EngineClient,
  ) => ResourceServer;
};

export function createScopePolicy(config: Config, audiences: AudienceRules): ScopePolicy {
  const known = new Set<string>(SPECIFICATION_SCOPES);
  for (const { scopes } of config.resources) for (const scope of scopes) known.add(scope);

  function refuseForeignScopes(ctx: KoaContextWithOIDC, allowed: ReadonlySet<string>): void {
    for (const scope of requestedScopes(ctx)) {
      // RFC 6749 §3.3: an unknown scope is refused, never dropped silently.
      if (!known.has(scope)) throw new errors.InvalidScope('requested scope is not supported', scope);
      // Asked here besides the engine, which does not look again when a sign-in is resumed.
      if (!allowed.has(scope)) throw new errors.InvalidScope('requested scope is not allowed', scope);
    }
  }

  return {
    known,
    defaultResource(ctx, client, oneOf) {
      refuseRemovedRedirectUri(ctx);
      if (oneOf !== undefined) throw new errors.InvalidTarget('only a single resource is supported');
      refuseForeignScopes(ctx, scopesOf(client));
      return undefined;
    },
    getResourceServerInfo(ctx, identifier, client) {
      refuseRemovedRedirectUri(ctx);
      const resource = audiences.findResource(identifier);
      if (resource === undefined) throw new errors.InvalidTarget('resource is not known');
      const allowed = scopesOf(client);
      refuseForeignScopes(ctx, allowed);
      const owned = resource.scopes.filter((scope) => allowed.has(scope));
      refuseScopesOfOthers(ctx, resource.scopes);
      return {
        scope: owned.join(' '),
        audience: identifier,
        accessTokenTTL: audiences.lifetimeOf(identifier),
      };
    },
  };
}

/** A sign-in that was open while the file changed must not end at an address that is gone from it; the engine looked before. */
function refuseRemovedRedirectUri({ oidc }: KoaContextWithOIDC): void {
  const redirectUri = oidc.params?.['redirect_uri'];
  if (oidc.route !== 'resume' || oidc.client?.redirectUriAllowed(String(redirectUri)) === true) return;
  throw new errors.InvalidRedirectUri();
}

/** A machine that names one resource and a scope of another would lose the scope silently: refuse it instead. */
function refuseScopesOfOthers(ctx: KoaContextWithOIDC, owned: readonly string[]): void {
  if (ctx.oidc.params?.['grant_type'] !== 'client_credentials') return;
  for (const scope of requestedScopes(ctx)) {
    if (!owned.includes(scope))
      throw new errors.InvalidScope('requested scope is not of that resource', scope);
  }
}

function requestedScopes(ctx: KoaContextWithOIDC): readonly string[] {
  const scope = ctx.oidc.params?.['scope'];
  return typeof scope === 'string' ? scope.split(' ').filter(Boolean) : [];
}

function scopesOf(client: EngineClient): ReadonlySet<string> {
  return new Set(client.scope?.split(' '));
}
