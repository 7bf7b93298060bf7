// What the fast path answers, by path below the issuer.
import { ENDPOINTS } from '../../config/endpoints.ts';
import { fastClientCredentials } from './client-credentials.ts';
import { fastIntrospection } from './introspection.ts';
import type { FastAnswer, FastParts } from './plain-request.ts';
import { fastRefresh } from './refresh.ts';

export function createFastAnswers(parts: FastParts): ReadonlyMap<string, FastAnswer> {
  const refresh = fastRefresh(parts);
  const clientCredentials = fastClientCredentials(parts);
  return new Map<string, FastAnswer>([
    [
      ENDPOINTS.token,
      async (request, state) => (await clientCredentials(request, state)) ?? refresh(request, state),
    ],
    [ENDPOINTS.introspection, fastIntrospection(parts)],
  ]);
}
