// What the fast path answers, by path below the issuer.
import type Provider from 'oidc-provider';
import type { Config } from '../../config/config.ts';
import { ENDPOINTS } from '../../config/endpoints.ts';
import type { AdapterParts } from '../adapter.ts';
import { createPersonTokens } from '../person-tokens.ts';
import { createFindRefusal } from '../policies/scopes.ts';
import { fastClientCredentials, type FastClientCredentialsParts } from './client-credentials.ts';
import { fastIntrospection, type FastIntrospectionParts } from './introspection.ts';
import type { FastAnswer } from './plain-request.ts';
import { fastRefresh, type FastRefreshParts } from './refresh.ts';

type FastAnswersParts = Omit<FastClientCredentialsParts, 'findRefusal'> &
  Omit<FastRefreshParts, 'findRefusal' | 'provider' | 'records'> &
  Omit<FastIntrospectionParts, 'withPersonToken'> & {
    readonly config: Config;
    readonly adapter: AdapterParts;
  };

export function createFastAnswers(
  { config, adapter, ...parts }: FastAnswersParts,
  provider: Provider,
): ReadonlyMap<string, FastAnswer> {
  const withPersonToken = createPersonTokens(provider, adapter.records);
  const introspection = { ...parts, withPersonToken };
  const findRefusal = createFindRefusal({ config, audiences: parts.audiences });
  const { records } = adapter;
  const refresh = fastRefresh({ ...parts, config, records, findRefusal, provider });
  if (!config.features.clientCredentials) {
    // Without the grant, the engine knows no machine token either.
    const ofPeople = { ...introspection, findMachineToken: async () => undefined };
    return new Map([
      [ENDPOINTS.token, refresh],
      [ENDPOINTS.introspection, fastIntrospection(ofPeople)],
    ]);
  }
  const clientCredentials = fastClientCredentials({ ...parts, findRefusal });
  return new Map<string, FastAnswer>([
    [
      ENDPOINTS.token,
      async (request, state) => (await clientCredentials(request, state)) ?? refresh(request, state),
    ],
    [ENDPOINTS.introspection, fastIntrospection(introspection)],
  ]);
}
