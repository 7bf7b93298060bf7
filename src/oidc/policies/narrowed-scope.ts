// Codes and tokens that were issued before a client's scope was narrowed: from then on they give what the client may
// still ask for, and no more, by scope and by single claims. The engine looks at a client's scope when it is asked for, not when it is used again.
import type { Adapter, AdapterPayload } from 'oidc-provider';
import type { Claims } from '../claims.ts';
import type { LoadClient } from '../clients.ts';
import { narrowClaims } from './asked-claims.ts';

const MODELS_WITH_SCOPE = new Set(['AccessToken', 'AuthorizationCode', 'DeviceCode', 'RefreshToken']);

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

export type NarrowParts = {
  readonly stillAllowed: StillAllowed;
  readonly loadClient: LoadClient;
  readonly claims: Pick<Claims, 'mayName'>;
};

export function narrowScopes(
  model: string,
  adapter: Adapter,
  { stillAllowed, loadClient, claims }: NarrowParts,
): Adapter {
  if (!MODELS_WITH_SCOPE.has(model)) return adapter;

  async function narrow(payload: AdapterPayload): Promise<AdapterPayload> {
    const { scope, claims: named, clientId } = payload;
    if (typeof scope !== 'string' || clientId === undefined) return payload;
    const narrowed = { ...payload, scope: await stillAllowed(clientId, scope) };
    const client = named && (await loadClient(clientId));
    return client ? { ...narrowed, claims: narrowClaims(named, claims.mayName(client)) } : narrowed;
  }

  return {
    ...adapter,
    async find(id) {
      const payload = await adapter.find(id);
      return payload ? narrow(payload) : undefined;
    },
  };
}
