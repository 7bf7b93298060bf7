// Scopes in plain words for the consent page, sorted by whom they belong to.
import type { Resource } from '../config/config.ts';
import type { OpenInteraction } from '../engine/interactions.ts';
import type { ConsentModel, ScopeModel } from '../pages/models.ts';

const WORDS: Readonly<Record<string, string>> = {
  openid: 'Know who you are',
  email: 'See your email address',
  profile: 'See your profile: your name and what else you filled in',
  offline_access: 'Keep access while you are not using it',
};

type Requested = Pick<ConsentModel, 'scopes' | 'resources'>;

export function toScopeModels(
  missing: OpenInteraction['missing'],
  resources: readonly Resource[],
): Requested {
  const ownerOf = new Map(
    resources.flatMap(({ resource, scopes }) => scopes.map((scope) => [scope, resource] as const)),
  );
  const own: ScopeModel[] = [];
  const byResource = new Map<string, Set<string>>();
  const add = (resource: string, scope: string) => {
    byResource.set(resource, (byResource.get(resource) ?? new Set()).add(scope));
  };

  for (const name of missing.scopes) {
    const owner = ownerOf.get(name);
    if (owner === undefined) own.push({ name, description: WORDS[name] ?? name });
    else add(owner, name);
  }
  for (const [resource, scopes] of Object.entries(missing.resourceScopes)) {
    for (const scope of scopes) add(resource, scope);
  }
  return {
    scopes: own,
    resources: [...byResource].map(([resource, scopes]) => ({
      resource,
      scopes: [...scopes].map((name) => ({ name, description: name })),
    })),
  };
}
