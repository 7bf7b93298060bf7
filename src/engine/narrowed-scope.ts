// Codes and tokens that were issued before a client's scope was narrowed: from then on they give what the client may
// still ask for, and no more. The engine looks at a client's scope when it is asked for, not when it is used again.
import type { Adapter, AdapterPayload } from 'oidc-provider';
import type { Client } from '../config/config.ts';

const MODELS_WITH_SCOPE = new Set(['AccessToken', 'AuthorizationCode', 'RefreshToken']);

export function narrowScopes(
  model: string,
  adapter: Adapter,
  clients: ReadonlyMap<string, Pick<Client, 'scopes'>>,
): Adapter {
  if (!MODELS_WITH_SCOPE.has(model)) return adapter;

  function narrow(payload: AdapterPayload): AdapterPayload {
    const { scope, clientId } = payload;
    const allowed = clients.get(clientId ?? '')?.scopes;
    if (typeof scope !== 'string' || allowed === undefined) return payload;
    return {
      ...payload,
      scope: scope
        .split(' ')
        .filter((one) => allowed.includes(one))
        .join(' '),
    };
  }

  return {
    ...adapter,
    async find(id) {
      const payload = await adapter.find(id);
      return payload ? narrow(payload) : undefined;
    },
  };
}
