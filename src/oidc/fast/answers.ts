// What the fast path answers, by path below the issuer.
import { ENDPOINTS } from '../../config/endpoints.ts';
import { fastClientCredentials } from './client-credentials.ts';
import { fastIntrospection } from './introspection.ts';
import type { FastAnswer, FastParts } from './plain-request.ts';
import { fastRefresh } from './refresh.ts';

const findNone = async () => undefined;

export function createFastAnswers(parts: FastParts): ReadonlyMap<string, FastAnswer> {
  const refresh = fastRefresh(parts);
  // Without the grant, the engine knows no machine token either.
  if (!parts.config.features.clientCredentials) {
    return new Map([
      [ENDPOINTS.token, refresh],
      [ENDPOINTS.introspection, fastIntrospection({ ...parts, findMachineToken: findNone })],
    ]);
  }
  const clientCredentials = fastClientCredentials(parts);
  return new Map<string, FastAnswer>([
    [
      ENDPOINTS.token,
      async (request, state) => (await clientCredentials(request, state)) ?? refresh(request, state),
    ],
    [ENDPOINTS.introspection, fastIntrospection(parts)],
  ]);
}
