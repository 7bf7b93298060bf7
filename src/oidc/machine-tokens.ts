// Which machine tokens are active, for the engine's model of them and for the fast path of introspection.
// policies/token-policies.ts decides which caller may know.
import { type AccessTokens, isMachines } from '../tokens/access-token.ts';
import type { Audience } from '../tokens/audience.ts';
import type { RevokedTokens } from '../tokens/revoked-tokens.ts';
import type { StillAllowed } from './policies/narrowed-scope.ts';

/** Times in epoch seconds. */
export type MachineToken = {
  readonly jti: string;
  readonly clientId: string;
  /** What the client may still ask for. */
  readonly scope: string | undefined;
  readonly aud: Audience;
  readonly iat: number;
  readonly exp: number;
};

/**
 * The token, when it is a client's own, ours, valid now and not revoked; else undefined. Throws StoreUnavailable when the store
 * can't be asked: then the answer is 503, never "active".
 */
export type FindMachineToken = (jwt: string) => Promise<MachineToken | undefined>;

export function createMachineTokenFinder(
  tokens: AccessTokens,
  revoked: RevokedTokens,
  stillAllowed: StillAllowed,
): FindMachineToken {
  return async function findMachineToken(jwt) {
    const claims = await tokens.verify(jwt);
    if (claims === undefined || !isMachines(claims)) return undefined;
    const { jti, client_id: clientId, scope, aud, iat, exp } = claims;
    if (await revoked.has(jti)) return undefined;
    const narrowed = scope === undefined ? undefined : await stillAllowed(clientId, scope);
    return { jti, clientId, scope: narrowed, aud, iat, exp };
  };
}
