// Scopes in plain words for the consent page, sorted by whom they belong to. A text of the page's language wins
// (`scope.NAME`), then the words of the configuration, then the name itself.
import { type Resource, type ScopeSettings, SPECIFICATION_SCOPES } from '../config/config.ts';
import type { OpenInteraction } from './open-interaction.ts';
import type { AskedFor } from './policies/asked-for.ts';
import { refreshesUnasked } from './policies/offline-access.ts';
import type { PageModels, ScopeModel } from '../views/models.ts';

type Requested = Pick<PageModels['consent'], 'scopes' | 'resources'>;

/** Key of a text -> the text in the page's language, where there is one. */
type FindText = (key: string) => string | undefined;

/** What an app was allowed before. */
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

/** Of ours what is still to be granted; of an API everything that is asked for, so that each token's API is on the page. */
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
    // The built-in text doesn't know what the configuration adds to this scope.
    const isWidened = words !== undefined && SPECIFICATION_SCOPES.some((one) => one === name);
    return isWidened ? { name, description: words } : describe(name, words);
  }

  /** Of `scopes` those that are ours; each API with those of `askedAt` that are its own, in that order. */
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
