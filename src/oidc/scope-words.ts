// Describes scopes for the consent page, grouped by owner. The text in the page's language (`scope.NAME`) comes first, then
// the description of the configuration, then the name itself.
import { type Resource, type ScopeSettings, SPECIFICATION_SCOPES } from '../config/config.ts';
import type { OpenInteraction } from './open-interaction.ts';
import type { AskedFor } from './policies/asked-for.ts';
import { refreshesUnasked } from './policies/offline-access.ts';
import type { PageModels } from '../views/models.ts';
import type { ScopeModel } from '../views/shared-models.ts';

type Requested = Pick<PageModels['consent'], 'scopes' | 'resources'>;

/** Finds the text of a key in the page's language, if there is one. */
type FindText = (key: string) => string | undefined;

/** Describes what an app was allowed before. */
export function toAllowedModels(
  { scopes, resourceScopes }: AskedFor,
  config: ScopeSettings,
  findText: FindText,
): Requested {
  const apis = config.resources.filter(
    (api) => resourceScopes[api.resource] !== undefined || api.scopes.some((scope) => scopes.includes(scope)),
  );
  const allowedAt = ({ resource }: Resource) => [...scopes, ...(resourceScopes[resource] ?? [])];
  return createDescribe(config, findText)(scopes, apis, allowedAt);
}

/** Describes our scopes that are still to be granted, and all requested scopes of an API, so that each token's API is shown. */
export function toScopeModels(
  { asked, missing, settings }: Pick<OpenInteraction, 'asked' | 'missing' | 'settings'>,
  config: ScopeSettings,
  findText: FindText,
): Requested {
  const unasked = refreshesUnasked(settings, asked.scopes) ? ['offline_access'] : [];
  const apis = config.resources.filter(({ resource, scopes }) =>
    asked.resource === undefined
      ? scopes.some((scope) => asked.scopes.includes(scope))
      : resource === asked.resource,
  );
  return createDescribe(config, findText)([...missing.scopes, ...unasked], apis, () => asked.scopes);
}

function createDescribe({ scopes: configured, resources }: ScopeSettings, findText: FindText) {
  const describe = (name: string, words?: string): ScopeModel => ({
    name,
    description: findText(`scope.${name}`) ?? words ?? name,
  });

  function describeOwn(name: string): ScopeModel {
    const words = configured[name]?.description;
    // The built-in text doesn't mention what the configuration adds to this scope.
    const isWidened = words !== undefined && SPECIFICATION_SCOPES.some((one) => one === name);
    return isWidened ? { name, description: words } : describe(name, words);
  }

  /** Describes our own scopes among `scopes`, and for each API its own among `askedAt`, in that order. */
  return (
    scopes: readonly string[],
    apis: readonly Resource[],
    askedAt: (api: Resource) => readonly string[],
  ): Requested => ({
    scopes: scopes.filter((one) => resources.every((api) => !api.scopes.includes(one))).map(describeOwn),
    resources: apis.map((api) => ({
      resource: api.resource,
      name: api.name ?? api.resource,
      scopes: [...new Set(askedAt(api))]
        .filter((scope) => api.scopes.includes(scope))
        .map((scope) => describe(scope, api.scopeDescriptions?.[scope])),
    })),
  });
}
