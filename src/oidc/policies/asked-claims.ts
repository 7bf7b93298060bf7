// The claims parameter (OIDC Core §5.5): an app asks for single claims of the scopes that it may ask for.
import type { ClaimsParameter } from 'oidc-provider';

/** Of the answer itself: no scope gives them, and nobody is asked for them. */
const OF_ANSWER: ReadonlySet<string> = new Set(['sub', 'acr', 'amr', 'auth_time']);

/** Where each claim is wanted. */
const PLACES = ['userinfo', 'id_token'] as const;

/** OIDC Core §5.5.1: a claim that the app may not have is ignored, as one that doesn't exist is. */
export function narrowClaims(asked: ClaimsParameter, allowed: ReadonlySet<string>): ClaimsParameter {
  const isLeft = ([name]: readonly [string, unknown]) => OF_ANSWER.has(name) || allowed.has(name);
  const places = PLACES.filter((place) => asked[place] !== undefined);
  return Object.fromEntries(
    places.map((place) => [place, Object.fromEntries(Object.entries(asked[place] ?? {}).filter(isLeft))]),
  );
}

/** `parameter`: the engine has parsed it before. */
export const parseAskedClaims = (parameter: string): ClaimsParameter =>
  JSON.parse(parameter) as ClaimsParameter;

/** Which claims of a person a request names. */
export function namedClaims(parameter: unknown): readonly string[] {
  if (typeof parameter !== 'string') return [];
  const asked = parseAskedClaims(parameter);
  const names = new Set(PLACES.flatMap((place) => Object.keys(asked[place] ?? {})));
  return [...names].filter((name) => !OF_ANSWER.has(name));
}
