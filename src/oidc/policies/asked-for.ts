// What an authorization request asks a person for.
import type { KoaContextWithOIDC } from 'oidc-provider';
import { namedClaims } from './asked-claims.ts';

/** In a grant: the person allowed an API that has no scopes. No scope can have quotes (RFC 6749 §3.3), so none is granted by it. */
export const WHOLE_API = '"whole"';

export type AskedFor = {
  /** Those of APIs, too. */
  readonly scopes: readonly string[];
  /** By name, whatever the scopes give. */
  readonly claims: readonly string[];
  readonly resourceScopes: Readonly<Record<string, readonly string[]>>;
};

export function askedFor({ oidc }: KoaContextWithOIDC): AskedFor {
  const asked = [...oidc.requestParamScopes];
  const ofResource = Object.entries(oidc.resourceServers ?? {}).map(([resource, { scope, scopes }]) => [
    resource,
    scope === '' ? [WHOLE_API] : asked.filter((one) => scopes.has(one)),
  ]);
  return {
    scopes: [...oidc.requestParamOIDCScopes],
    claims: namedClaims(oidc.params?.['claims']),
    resourceScopes: Object.fromEntries(ofResource),
  };
}
