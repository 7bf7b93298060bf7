// Codes and tokens that were issued before a client's scope was narrowed: from then on they give what the client may
// still ask for, and no more. The engine looks at a client's scope when it is asked for, not when it is used again.
import type { Adapter, AdapterPayload } from 'oidc-provider';
import type { LoadClient } from '../clients.ts';

const MODELS_WITH_SCOPE = new Set(['AccessToken', 'AuthorizationCode', 'RefreshToken']);

/** What of a scope its client may still ask for. */
export type StillAllowed = (clientId: string, scope: string) => Promise<string>;

export function createStillAllowed(loadClient: LoadClient): StillAllowed {
  return async function stillAllowed(clientId, scope) {
    const allowed = (await loadClient(clientId))?.scopes;
    // A client that is gone gets nothing anyway; its look-up says so.
    if (allowed === undefined) return scope;
    return scope
      .split(' ')
      .filter((one) => allowed.includes(one))
      .join(' ');
  };
}

export function narrowScopes(model: string, adapter: Adapter, stillAllowed: StillAllowed): Adapter {
  if (!MODELS_WITH_SCOPE.has(model)) return adapter;

  async function narrow(payload: AdapterPayload): Promise<AdapterPayload> {
    const { scope, clientId } = payload;
    if (typeof scope !== 'string' || clientId === undefined) return payload;
    return { ...payload, scope: await stillAllowed(clientId, scope) };
  }

  return {
    ...adapter,
    async find(id) {
      const payload = await adapter.find(id);
      return payload ? narrow(payload) : undefined;
    },
  };
}
