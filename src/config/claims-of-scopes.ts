// Which claims each scope about a person gives (OIDC Core §5.4), with what `groups` and `scopes` of the file add.
import { personScopes, type Config } from './config.ts';
import { STANDARD_CLAIMS } from './schema-user.ts';

const isOfEmail = (claim: string) => claim.startsWith('email');

const STANDARD: ReadonlyMap<string, readonly string[]> = new Map([
  ['openid', ['sub']],
  ['email', STANDARD_CLAIMS.filter(isOfEmail)],
  ['profile', STANDARD_CLAIMS.filter((claim) => !isOfEmail(claim))],
  ['groups', ['groups']],
]);

/** Scopes that give no claim aren't in it. */
export function claimsOfScopes(
  config: Pick<Config, 'groups' | 'scopes'>,
): Readonly<Record<string, string[]>> {
  const given = personScopes(config).map((scope): [string, string[]] => [
    scope,
    [...(STANDARD.get(scope) ?? []), ...(config.scopes[scope]?.claims ?? [])],
  ]);
  return Object.fromEntries(given.filter(([, claims]) => claims.length > 0));
}
