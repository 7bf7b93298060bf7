// What a refresh may ask for (RFC 6749 §6, RFC 8707 §2.2). The engine looks at `resource` only after the refresh token is used up, and
// the client's second try would then look like theft; so all of it is decided before.
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import {
  createFindRefusal,
  severalResources,
  scopesBeside,
  scopesIn,
  type ScopePolicyParts,
  tooManyResources,
} from './scopes.ts';

type RefreshToken = NonNullable<KoaContextWithOIDC['oidc']['entities']['RefreshToken']>;

/** Throws what a refresh is refused with, and sets the parameters as the engine needs them. */
export function createRefreshCheck(parts: ScopePolicyParts): (ctx: KoaContextWithOIDC) => void {
  const { audiences, findClient } = parts;
  const findRefusal = createFindRefusal(parts);

  function resourceOf(requested: unknown, token: RefreshToken, asked: readonly string[]): string | undefined {
    if (requested === undefined) return impliedResource(token, asked);
    if (typeof requested !== 'string') throw tooManyResources();
    if (resourcesOf(token, audiences.ownersOf(token.scopes)).includes(requested)) return requested;
    throw new errors.InvalidTarget('resource was not granted');
  }

  /** Where none is named. An earlier version let a refresh token be for several resources; then the scopes choose one. */
  function impliedResource({ resource }: RefreshToken, asked: readonly string[]): string | undefined {
    if (!Array.isArray(resource)) return resource;
    const [chosen, ...others] = audiences.ownersOf(asked);
    if (others.length > 0) throw severalResources(asked);
    if (chosen === undefined || !resource.includes(chosen)) throw tooManyResources();
    return chosen;
  }

  return function checkRefresh({ oidc: { client: engineClient, params = {}, entities } }) {
    const client = findClient(engineClient?.clientId ?? '');
    const token = entities.RefreshToken;
    if (client === undefined || token === undefined) throw new errors.InvalidGrant();
    const asked = askedOf(params['scope'], token);
    const resource = resourceOf(params['resource'], token, asked ?? [...token.scopes]);
    const scopes = asked ?? scopesBeside(audiences, token.scopes, resource);
    const refusal = findRefusal({ client, scopes, resource, isForPerson: true });
    if (refusal !== undefined) throw refusal;
    params['resource'] = resource;
    params['scope'] = asked?.join(' ');
    if (resource === undefined || token.resource !== undefined) return;
    // Without a resource at the beginning, the engine knows none, and one that is named now means its scopes alone.
    params['resource'] = undefined;
    params['scope'] = scopes.filter((scope) => audiences.ownersOf([scope]).length > 0).join(' ');
  };
}

/** The engine compared the two before the person's groups took scopes from the token. */
function askedOf(scope: unknown, token: RefreshToken): readonly string[] | undefined {
  return scope === undefined ? undefined : scopesIn(scope).filter((one) => token.scopes.has(one));
}

/** What may be named at a refresh: what was at the beginning, or one of several APIs that an earlier version gave scopes of. */
function resourcesOf({ resource }: RefreshToken, owners: readonly string[]): readonly string[] {
  if (resource !== undefined) return [resource].flat();
  return owners.length > 1 ? owners : [];
}
