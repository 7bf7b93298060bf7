// Scopes in plain words for the consent page, sorted by whom they belong to. A text of the page's language wins
// (`scope.NAME`), then the words of the configuration, then the name itself.
import { type Resource, type ScopeSettings, SPECIFICATION_SCOPES } from '../config/config.ts';
import { refreshesUnasked } from './policies/offline-access.ts';
import type { AllowedApp } from './user-grants.ts';
import type { ApiModel, PageModels, ScopeModel } from '../views/models.ts';

type Requested = Pick<PageModels['consent'], 'scopes' | 'resources'>;

/** Of an open interaction (interactions.ts). */
type AskedNow = Readonly<{
  asked: { readonly scopes: readonly string[]; readonly resource?: string | undefined };
  missing: { readonly scopes: readonly string[] };
  settings: Parameters<typeof refreshesUnasked>[0];
}>;

/** Key of a text -> the text in the page's language, where there is one. */
type FindText = (key: string) => string | undefined;

/** What an app was allowed before. */
export function toAllowedModels(
  { scopes, resourceScopes }: Pick<AllowedApp, 'scopes' | 'resourceScopes'>,
  config: ScopeSettings,
  findText: FindText,
): Requested {
  const { describeOwn, describeApi } = createDescribe(config, findText);
  const { resources } = config;
  const apis = resources.filter(
    (api) => resourceScopes[api.resource] !== undefined || api.scopes.some((scope) => scopes.includes(scope)),
  );
  return {
    scopes: scopes.filter((scope) => resources.every((api) => !api.scopes.includes(scope))).map(describeOwn),
    resources: apis.map((api) => describeApi(api, [...scopes, ...(resourceScopes[api.resource] ?? [])])),
  };
}

/** Of ours what is still to be granted; of an API everything that is asked for, so that each token's API is on the page. */
export function toScopeModels(
  { asked, missing, settings }: AskedNow,
  config: ScopeSettings,
  findText: FindText,
): Requested {
  const { resources } = config;
  const { describeOwn, describeApi } = createDescribe(config, findText);
  const ownScopes = [
    ...missing.scopes,
    ...(refreshesUnasked(settings, asked.scopes) ? ['offline_access'] : []),
  ].filter((name) => resources.every(({ scopes }) => !scopes.includes(name)));
  const apis = resources.filter(({ resource, scopes }) =>
    asked.resource === undefined
      ? scopes.some((scope) => asked.scopes.includes(scope))
      : resource === asked.resource,
  );
  return {
    scopes: ownScopes.map(describeOwn),
    resources: apis.map((api) => describeApi(api, asked.scopes)),
  };
}

function createDescribe({ scopes: configured }: ScopeSettings, findText: FindText) {
  const describe = (name: string, words?: string): ScopeModel => ({
    name,
    description: findText(`scope.${name}`) ?? words ?? name,
  });
  return {
    describeOwn: (name: string): ScopeModel => {
      const words = configured[name]?.description;
      // The built-in text doesn't know what the configuration adds to this scope.
      const isWidened = words !== undefined && SPECIFICATION_SCOPES.some((one) => one === name);
      return isWidened ? { name, description: words } : describe(name, words);
    },
    /** With those of `asked` that are its own, in that order. */
    describeApi: (
      { resource, name, scopes, scopeDescriptions }: Resource,
      asked: readonly string[],
    ): ApiModel => ({
      resource,
      name: name ?? resource,
      scopes: [...new Set(asked)]
        .filter((scope) => scopes.includes(scope))
        .map((scope) => describe(scope, scopeDescriptions?.[scope])),
    }),
  };
}
