// Scopes and single claims in plain words for the consent page, sorted by whom they belong to. A text of the page's language wins
// (`scope.NAME`, `claim.NAME`), then the words of the configuration, then the name itself.
import { claimsOfScopes } from '../config/claims-of-scopes.ts';
import { type Config, SPECIFICATION_SCOPES } from '../config/config.ts';
import type { OpenInteraction } from '../oidc/interactions.ts';
import { refreshesUnasked } from '../oidc/policies/offline-access.ts';
import type { PageModels, ScopeModel } from '../views/models.ts';
import { fill } from '../views/texts.ts';

type Requested = Pick<PageModels['consent'], 'scopes' | 'resources'>;

/** Key of a text -> the text in the page's language, where there is one. */
export type FindText = (key: string) => string | undefined;

/** Of ours what is still to be granted; of an API everything that is asked for, so that each token's API is on the page. */
export function toScopeModels(
  { asked, missing, settings }: Pick<OpenInteraction, 'asked' | 'missing' | 'settings'>,
  config: Pick<Config, 'groups' | 'resources' | 'scopes'>,
  findText: FindText,
): Requested {
  const { resources, scopes: configured } = config;
  const describe = (name: string, words?: string): ScopeModel => ({
    name,
    description: findText(`scope.${name}`) ?? words ?? name,
  });
  const describeOwn = (name: string): ScopeModel => {
    const words = configured[name]?.description;
    // The built-in text doesn't know what the configuration adds to this scope.
    const isWidened = words !== undefined && SPECIFICATION_SCOPES.some((one) => one === name);
    return isWidened ? { name, description: words } : describe(name, words);
  };
  const describeClaim = (name: string): ScopeModel => ({
    name,
    description: findText(`claim.${name}`) ?? fill(findText('consent.claim') ?? name, { claim: name }),
  });
  const byScope = claimsOfScopes(config);
  const isListed = (claim: string) =>
    missing.scopes.some((scope) => byScope[scope]?.includes(claim) === true);
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
    scopes: [
      ...ownScopes.map(describeOwn),
      ...missing.claims.filter((claim) => !isListed(claim)).map(describeClaim),
    ],
    resources: apis.map(({ resource, name, scopes, scopeDescriptions }) => ({
      resource,
      name: name ?? resource,
      scopes: asked.scopes
        .filter((scope) => scopes.includes(scope))
        .map((scope) => describe(scope, scopeDescriptions?.[scope])),
    })),
  };
}
