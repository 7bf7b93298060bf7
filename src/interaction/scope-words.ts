// Scopes in plain words for the consent page, sorted by whom they belong to. A text of the page's language wins
// (`scope.NAME`), then the words of the configuration, then the scope itself.
import type { Resource } from '../config/config.ts';
import type { OpenInteraction } from '../engine/interactions.ts';
import type { PageModels, ScopeModel } from '../pages/models.ts';

type Requested = Pick<PageModels['consent'], 'scopes' | 'resources'>;

/** Key of a text -> the text in the page's language, where there is one. */
export type FindText = (key: string) => string | undefined;

export function toScopeModels(
  missing: OpenInteraction['missing'],
  resources: readonly Resource[],
  findText: FindText,
): Requested {
  const known = new Map(resources.map((one) => [one.resource, one]));
  const ownerOf = new Map(
    resources.flatMap(({ resource, scopes }) => scopes.map((scope) => [scope, resource] as const)),
  );
  const own: ScopeModel[] = [];
  const byResource = new Map<string, Set<string>>();
  const add = (resource: string, scope: string) => {
    byResource.set(resource, (byResource.get(resource) ?? new Set()).add(scope));
  };
  const describe = (name: string, configured?: string): ScopeModel => ({
    name,
    description: findText(`scope.${name}`) ?? configured ?? name,
  });

  for (const name of missing.scopes) {
    const owner = ownerOf.get(name);
    if (owner === undefined) own.push(describe(name));
    else add(owner, name);
  }
  for (const [resource, scopes] of Object.entries(missing.resourceScopes)) {
    for (const scope of scopes) add(resource, scope);
  }
  return {
    scopes: own,
    resources: [...byResource].map(([resource, scopes]) => ({
      resource,
      name: known.get(resource)?.name ?? resource,
      scopes: [...scopes].map((scope) => describe(scope, known.get(resource)?.scopeDescriptions?.[scope])),
    })),
  };
}
