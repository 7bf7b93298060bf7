// The claims parameter (OIDC Core §5.5): an app asks for single claims of the scopes that it may ask for.
import { type ClaimsParameter, errors } from 'oidc-provider';

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

/**
 * OIDC Core §5.5.1.1: an essential acr that can't be had is a failed sign-in. `hasLevels`: tokens have an acr at all; which ones a person
 * can reach is seen when they are known.
 */
export function checkAskedAcr({ id_token: asked }: ClaimsParameter, hasLevels: boolean): void {
  const { essential, value, values } = asked?.['acr'] ?? {};
  const named: readonly unknown[] = [value ?? [], values ?? []].flat();
  if (named.some((name) => typeof name !== 'string'))
    throw new errors.InvalidRequest('claims.id_token.acr must name its values as text');
  if (values !== undefined && !Array.isArray(values))
    throw new errors.InvalidRequest('claims.id_token.acr.values must be a list');
  if (essential === true && named.length > 0 && !hasLevels)
    throw new errors.UnmetAuthenticationRequirements('no acr is offered');
}

/** Which claims of a person a request names. */
export function namedClaims(parameter: unknown): readonly string[] {
  if (typeof parameter !== 'string') return [];
  const asked = parseAskedClaims(parameter);
  const names = new Set(PLACES.flatMap((place) => Object.keys(asked[place] ?? {})));
  return [...names].filter((name) => !OF_ANSWER.has(name));
}
