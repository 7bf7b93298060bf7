// What the fast path answers, by path below the issuer.
import type Provider from 'oidc-provider';
import type { Config } from '../../config/config.ts';
import { ENDPOINTS } from '../../config/endpoints.ts';
import type { AdapterParts } from '../adapter.ts';
import { createFindRefusal } from '../policies/scopes.ts';
import { fastClientCredentials, type FastClientCredentialsParts } from './client-credentials.ts';
import { fastIntrospection, type FastIntrospectionParts } from './introspection.ts';
import type { FastAnswer } from './plain-request.ts';
import { fastRefresh, type FastRefreshParts } from './refresh.ts';

type FastAnswersParts = Omit<
  FastClientCredentialsParts & FastRefreshParts & FastIntrospectionParts,
  'findRefusal' | 'provider' | 'records'
> & { readonly config: Config; readonly adapter: AdapterParts };

export function createFastAnswers(
  { adapter, ...parts }: FastAnswersParts,
  provider: Provider,
): ReadonlyMap<string, FastAnswer> {
  const { config, audiences } = parts;
  const findRefusal = createFindRefusal({ config, audiences });
  const given = { ...parts, provider, records: adapter.records, findRefusal };
  // Without the grant, the engine knows no machine token either.
  const hasMachines = config.features.clientCredentials;
  const clientCredentials: FastAnswer = hasMachines ? fastClientCredentials(given) : async () => undefined;
  const findMachineToken = hasMachines ? parts.findMachineToken : async () => undefined;
  const refresh = fastRefresh(given);
  return new Map<string, FastAnswer>([
    [
      ENDPOINTS.token,
      async (request, state) => (await clientCredentials(request, state)) ?? refresh(request, state),
    ],
    [ENDPOINTS.introspection, fastIntrospection({ ...given, findMachineToken })],
  ]);
}
