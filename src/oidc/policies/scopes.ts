// Which scopes and which resource a request may name (RFC 6749 §3.3, RFC 8707). The engine drops unknown scopes and accepts any
// resource, so they are refused here. tokens/audience.ts decides the audience of a token.
import { errors, type KoaContextWithOIDC, type RefreshToken, type ResourceServer } from 'oidc-provider';
import { userScopes, type Client, type Resource, type ScopeSettings } from '../../config/config.ts';
import type { AudienceRules } from '../../tokens/audience.ts';
import type { Clients } from '../clients.ts';
import { sourceOf } from '../models.ts';

export type Asked = Readonly<{
  client: Client;
  scopes: readonly string[];
  resource?: string | undefined;
  /** False for a token of the client itself (client_credentials). */
  isForUser: boolean;
}>;

type FindRefusal = (asked: Asked) => errors.OIDCProviderError | undefined;

type ScopePolicyParts = Readonly<{
  audiences: AudienceRules;
  clients: Clients;
  findDefault: ReturnType<typeof createFindDefault>;
  findRefusal: FindRefusal;
}>;

/** Runs for each request before its scope is checked, and may change that scope. */
export type RestoreScope = (ctx: KoaContextWithOIDC, client: Client) => void;

export function createFindRefusal(config: ScopeSettings, audiences: AudienceRules): FindRefusal {
  const known = knownScopes(config);

  function scopeRefusal({ client, scopes, isForUser }: Asked, resource: Resource | undefined) {
    // A user's own scopes concern the ID token, so a request may name them beside a resource.
    const isBeside = (scope: string) => isForUser && audiences.ownersOf([scope]).length === 0;
    for (const scope of scopes) {
      // RFC 6749 §3.3: an unknown scope is refused, never dropped silently.
      if (!known.has(scope)) return new errors.InvalidScope('requested scope is not supported', scope);
      if (!client.scopes.includes(scope))
        return new errors.InvalidScope('requested scope is not allowed', scope);
      if (resource !== undefined && !resource.scopes.includes(scope) && !isBeside(scope))
        return new errors.InvalidScope('requested scope is not of that resource', scope);
    }
    return undefined;
  }

  function audienceRefusal({ client, scopes }: Asked, resource: Resource | undefined) {
    // RFC 9068 §3: a token for two resources would let each use it at the other.
    if (resource === undefined && audiences.ownersOf(scopes).length > 1)
      return new errors.InvalidScope('requested scopes are of several resources', scopes.join(' '));
    return resource === undefined || audiences.isBacked(resource.resource, scopes, client.clientId)
      ? undefined
      : new errors.InvalidTarget('no scope of that resource was requested');
  }

  return function findRefusal(asked) {
    const { client, scopes, resource: identifier, isForUser } = asked;
    const resource = identifier === undefined ? undefined : audiences.findResource(identifier);
    const mayHave = resource && audiences.isBacked(resource.resource, client.scopes, client.clientId);
    if (identifier !== undefined && !mayHave)
      return new errors.InvalidTarget('resource is unknown or not allowed for this client');
    // Only a service may name no scope, and only at an API without scopes.
    if (scopes.length === 0 && (isForUser || resource?.scopes.length !== 0))
      return new errors.CustomOIDCProviderError('invalid_scope', 'scope is missing');
    return scopeRefusal(asked, resource) ?? audienceRefusal(asked, resource);
  };
}

export const knownScopes = (config: ScopeSettings): ReadonlySet<string> =>
  new Set([...userScopes(config), ...config.resources.flatMap(({ scopes }) => scopes)]);

/** `client`: undefined if the configuration has no such client. */
type Wanted = Pick<Asked, 'resource' | 'isForUser'> & { readonly client: Client | undefined };

/**
 * Default scopes of a request without `scope` (RFC 6749 §3.3) where a grant begins: at the authorization endpoints and at
 * client_credentials. A code and a refresh token already have their scope.
 */
export function createFindDefault({ findResource, ownersOf }: AudienceRules) {
  /** All scopes of the client, if one token can have them all. */
  function whole({ scopes }: Client): readonly string[] {
    const isOfApi = (scope: string) => ownersOf([scope]).length > 0;
    return ownersOf(scopes).length === 1 && scopes.every(isOfApi) ? scopes : [];
  }

  /**
   * Empty when there is no default. The default is refused or granted as if the client had named it, never in part. `isForUser`: false
   * for the client itself (client_credentials).
   */
  return function findDefault({ client, resource: identifier, isForUser }: Wanted): readonly string[] {
    const resource = identifier === undefined ? undefined : findResource(identifier);
    if (resource !== undefined && resource.defaultScopes.length > 0) return resource.defaultScopes;
    // A service names no scope at an API without scopes.
    if (!isForUser && resource?.scopes.length === 0) return [];
    if (client?.defaultScopes?.length) return client.defaultScopes;
    return isForUser || !client ? [] : whole(client);
  };
}

type EngineClient = { readonly clientId: string };

/** The engine's two hooks; one of them runs for each request that names scopes, before anything else is decided. */
export function createResourceHooks(parts: ScopePolicyParts, restoreScope: RestoreScope) {
  const { audiences, clients, findDefault, findRefusal } = parts;

  async function check(ctx: KoaContextWithOIDC, { clientId }: EngineClient, resource?: string) {
    refuseRemoved(ctx);
    const client = await clients.load(clientId);
    if (client === undefined) throw new errors.InvalidClient();
    restoreScope(ctx, client);
    const { params = {} } = ctx.oidc;
    const granted = sourceOf(ctx)?.scopes;
    const isForUser = params['grant_type'] !== 'client_credentials';
    // The scope of a user's request was filled in before the engine read it (seam/context.ts).
    if (!isForUser && params['scope'] === undefined) {
      params['scope'] = findDefault({ client, resource, isForUser }).join(' ') || undefined;
    }
    const scopes =
      granted === undefined ? scopesIn(params['scope']) : scopesBeside(audiences, granted, resource);
    const refusal = findRefusal({ client, scopes, resource, isForUser });
    if (refusal !== undefined) throw refusal;
    return client;
  }

  return {
    /** Runs when the request names no resource or, with `oneOf`, several. */
    async defaultResource(ctx: KoaContextWithOIDC, client: EngineClient, oneOf?: readonly string[]) {
      if (oneOf !== undefined) throw tooManyResources();
      await check(ctx, client);
      return undefined;
    },
    async getResourceServerInfo(
      ctx: KoaContextWithOIDC,
      identifier: string,
      engineClient: EngineClient,
    ): Promise<ResourceServer> {
      if (Array.isArray(ctx.oidc.params?.['resource'])) throw tooManyResources();
      const client = await check(ctx, engineClient, identifier);
      const resource = audiences.findResource(identifier);
      const audience = resource?.resource ?? identifier;
      return {
        scope: resource?.scopes.filter((scope) => client.scopes.includes(scope)).join(' ') ?? '',
        audience,
        accessTokenTTL: audiences.lifetimeOf(audience),
      };
    },
  };
}

const tooManyResources = (): errors.InvalidTarget =>
  new errors.InvalidTarget('only a single resource is supported');

/** Refuses a sign-in whose redirect_uri or response_mode was removed while it was open, after the engine's own check. */
function refuseRemoved({ oidc: { route, params = {}, client } }: KoaContextWithOIDC): void {
  if (route !== 'resume') return;
  if (client?.redirectUriAllowed(String(params['redirect_uri'])) !== true)
    throw new errors.InvalidRedirectUri();
  const mode = (params['response_mode'] ?? 'query') as string;
  if (!(client.responseModes ?? ['query']).includes(mode))
    throw new errors.InvalidRequest('requested response_mode is not allowed for this client or request');
}

export const scopesIn = (parameter: unknown): readonly string[] =>
  typeof parameter === 'string' ? parameter.split(' ').filter(Boolean) : [];

/** The granted scopes that a token for this resource can have; the request didn't ask for the others. */
function scopesBeside(
  { ownersOf, findResource }: AudienceRules,
  granted: Iterable<string>,
  identifier: string | undefined,
): readonly string[] {
  const resource = identifier === undefined ? undefined : findResource(identifier)?.resource;
  return [...granted].filter((scope) => {
    const [owner] = ownersOf([scope]);
    return identifier === undefined || owner === undefined || owner === resource;
  });
}

export type Granted = Pick<RefreshToken, 'resource'>;

/**
 * RFC 6749 §6, RFC 8707 §2.2. The engine checks `resource` after it has used up the refresh token, and a second try would look like theft,
 * so everything is checked before. Throws the error of a refused refresh; sets the parameters for the engine.
 */
export function createRefreshCheck({ audiences, clients, findRefusal }: ScopePolicyParts) {
  return async function checkRefresh({ oidc }: KoaContextWithOIDC): Promise<void> {
    const { client: engineClient, params = {}, entities } = oidc;
    const client = await clients.load(engineClient?.clientId);
    const token = entities.RefreshToken;
    if (client === undefined || token === undefined) throw new errors.InvalidGrant();
    const asked = askedOf(params['scope'], token);
    const resource = grantedResource(params['resource'], token);
    const scopes = asked ?? scopesBeside(audiences, token.scopes, resource);
    const refusal = findRefusal({ client, scopes, resource, isForUser: true });
    if (refusal !== undefined) throw refusal;
    params['resource'] = resource;
    params['scope'] = asked?.join(' ');
  };
}

/** Allows only the resource of the authorization request, also when a code is exchanged. An earlier version allowed several. */
export function grantedResource(requested: unknown, { resource }: Granted): string | undefined {
  if (Array.isArray(requested) || Array.isArray(resource)) throw tooManyResources();
  if (requested !== undefined && requested !== resource)
    throw new errors.InvalidTarget('resource was not granted');
  return resource;
}

/** Drops scopes that the user's groups removed from the token after the engine had compared them. */
const askedOf = (scope: unknown, token: RefreshToken): readonly string[] | undefined =>
  scope === undefined ? undefined : scopesIn(scope).filter((one) => token.scopes.has(one));
