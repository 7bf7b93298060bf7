// Codes and tokens that were issued before a client's scope was narrowed: from then on they give what the client may
// still ask for, and no more. The engine looks at a client's scope when it is asked for, not when it is used again.
import type { Adapter, AdapterPayload, ClaimsParameter } from 'oidc-provider';
import type { Clients } from '../clients.ts';

/** What of a scope its client may still ask for. */
export type StillAllowed = (clientId: string, scope: string) => Promise<string>;

export function createStillAllowed(clients: Clients): StillAllowed {
  return async function stillAllowed(clientId, scope) {
    const allowed = (await clients.load(clientId))?.scopes;
    // A client that is gone gets nothing anyway; its look-up says so.
    if (allowed === undefined) return scope;
    return scope
      .split(' ')
      .filter((one) => allowed.includes(one))
      .join(' ');
  };
}

/** The engine asks for these by itself. An earlier version let an app ask for single claims of the user. */
function ofEngine({ id_token: asked = {} }: ClaimsParameter): ClaimsParameter {
  const own = Object.entries(asked).filter(([name]) => name === 'acr' || name === 'auth_time');
  return { id_token: Object.fromEntries(own) };
}

export function narrowScopes(adapter: Adapter, stillAllowed: StillAllowed): Adapter {
  async function narrow(payload: AdapterPayload): Promise<AdapterPayload> {
    const { scope, clientId } = payload;
    if (typeof scope !== 'string' || clientId === undefined) return payload;
    const narrowed = { ...payload, scope: await stillAllowed(clientId, scope) };
    return payload.claims === undefined ? narrowed : { ...narrowed, claims: ofEngine(payload.claims) };
  }

  return {
    ...adapter,
    async find(id) {
      const payload = await adapter.find(id);
      return payload ? narrow(payload) : undefined;
    },
  };
}
