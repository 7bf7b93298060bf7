// Which machine tokens are active, for the engine's model of them and for the fast path of introspection.
// policies/token-policies.ts decides which caller may know.
import { type AccessTokens, isMachines } from '../tokens/access-token.ts';
import type { RevokedTokens } from '../tokens/revoked-tokens.ts';
import type { StillAllowed } from './policies/narrowed-scope.ts';

export type FindMachineToken = ReturnType<typeof createMachineTokenFinder>;

export function createMachineTokenFinder(
  tokens: AccessTokens,
  revoked: RevokedTokens,
  stillAllowed: StillAllowed,
) {
  /**
   * The token, when it is a client's own, ours, valid now and not revoked; else undefined. `scope`: what the client may still ask for.
   * Throws StoreUnavailable when the store can't be asked: then the answer is 503, never "active".
   */
  return async function findMachineToken(jwt: string) {
    const claims = await tokens.verify(jwt);
    if (claims === undefined || !isMachines(claims)) return undefined;
    const { jti, client_id: clientId, scope, aud, iat, exp } = claims;
    if (await revoked.has(jti)) return undefined;
    const narrowed = scope === undefined ? undefined : await stillAllowed(clientId, scope);
    return { jti, clientId, scope: narrowed, aud, iat, exp };
  };
}
