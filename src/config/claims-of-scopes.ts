// The claims that each user scope gives (OIDC Core §5.4), including those that `groups` and `scopes` of the file add, and the size
// above which they are too long for an ID token.
import { type ScopeSettings, userScopes } from './config.ts';
import { STANDARD_CLAIMS } from './schema-user.ts';

const isOfEmail = (claim: string) => claim.startsWith('email');

const STANDARD: ReadonlyMap<string, readonly string[]> = new Map([
  ['openid', ['sub']],
  ['email', STANDARD_CLAIMS.filter(isOfEmail)],
  ['profile', STANDARD_CLAIMS.filter((claim) => !isOfEmail(claim))],
  ['groups', ['groups']],
]);

/** Lists the claims by scope, without scopes that give no claim. */
export function claimsOfScopes(config: ScopeSettings): Readonly<Record<string, string[]>> {
  const given = userScopes(config).map((scope): [string, string[]] => [
    scope,
    [...(STANDARD.get(scope) ?? []), ...(config.scopes[scope]?.claims ?? [])],
  ]);
  return Object.fromEntries(given.filter(([, claims]) => claims.length > 0));
}

const MAX_ID_TOKEN = 8 * 1024;
/** Bytes for the signature, the header and the claims that aren't about the user. */
const REST_OF_ID_TOKEN = 1024;

/** Whether an ID token with these claims of the user is too long for the headers that proxies pass. */
export function isTooLong(claims: Readonly<Record<string, unknown>>): boolean {
  // Base64 turns three bytes into four.
  return (Buffer.byteLength(JSON.stringify(claims)) * 4) / 3 + REST_OF_ID_TOKEN > MAX_ID_TOKEN;
}
