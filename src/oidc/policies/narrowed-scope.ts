// Limits codes and tokens that were issued before a client's scope was narrowed to what the client may still ask for. The
// engine checks a client's scope when it is requested, not when a code or token is used.
import type { Adapter, AdapterPayload, ClaimsParameter } from 'oidc-provider';
import type { Clients } from '../clients.ts';

/** Resolves the part of a scope that its client may still ask for. */
export type StillAllowed = (clientId: string, scope: string) => Promise<string>;

export function createStillAllowed(clients: Clients): StillAllowed {
  return async function stillAllowed(clientId, scope) {
    const allowed = (await clients.load(clientId))?.scopes;
    // A removed client gets nothing anyway, because its look-up fails.
    if (allowed === undefined) return scope;
    return scope
      .split(' ')
      .filter((one) => allowed.includes(one))
      .join(' ');
  };
}

/** Keeps the claims that the engine itself requests. An earlier version let an app request single claims of the user. */
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
