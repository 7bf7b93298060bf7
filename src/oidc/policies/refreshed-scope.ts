// What a refresh may ask for (RFC 6749 §6, RFC 8707 §2.2). The engine looks at `resource` only after the refresh token is used up, and
// the client's second try would then look like theft; so all of it is decided before.
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import { scopesBeside, scopesIn, type ScopePolicyParts, tooManyResources } from './scopes.ts';

type RefreshToken = NonNullable<KoaContextWithOIDC['oidc']['entities']['RefreshToken']>;

/** Throws what a refresh is refused with, and sets the parameters as the engine needs them. */
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

export type Resource = RefreshToken['resource'];

/** Only the one of the beginning, at the exchange of a code too; an earlier version allowed several. */
export function grantedResource(
  requested: unknown,
  { resource }: { readonly resource?: Resource },
): string | undefined {
  if (Array.isArray(requested) || Array.isArray(resource)) throw tooManyResources();
  if (requested !== undefined && requested !== resource)
    throw new errors.InvalidTarget('resource was not granted');
  return resource;
}

/** The engine compared the two before the user's groups took scopes from the token. */
const askedOf = (scope: unknown, token: RefreshToken): readonly string[] | undefined =>
  scope === undefined ? undefined : scopesIn(scope).filter((one) => token.scopes.has(one));
