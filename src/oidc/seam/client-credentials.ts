// Machine tokens: signed JWTs that aren't stored. Issuing one doesn't use the store; revoking one writes a deny record.
import { type AccessTokens, isMachineToken } from '../../tokens/access-token.ts';
import type { AudienceRules } from '../../tokens/audience.ts';
import type { RevokedTokens } from '../../tokens/revoked-tokens.ts';
import type { StillAllowed } from '../policies/narrowed-scope.ts';
import { type ModelClass, signRecord } from './model.ts';
import { jwtOf } from './presented-jwt.ts';

export function createMachineTokenFinder(
  tokens: AccessTokens,
  revoked: RevokedTokens,
  stillAllowed: StillAllowed,
) {
  /**
   * Resolves a machine token of ours that is valid and not revoked; else undefined. `scope`: what the client may still ask for.
   * policies/token-policies.ts decides which caller may see it. Throws StoreUnavailable: the answer is then 503, never "active".
   */
  return async function findMachineToken(jwt: string) {
    const claims = await tokens.verify(jwt);
    if (claims === undefined || !isMachineToken(claims)) return undefined;
    const { jti, client_id: clientId, scope, aud, iat, exp } = claims;
    if (await revoked.has(jti)) return undefined;
    const narrowed = scope === undefined ? undefined : await stillAllowed(clientId, scope);
    return { jti, clientId, scope: narrowed, aud, iat, exp };
  };
}

type MachineTokenParts = Readonly<{
  tokens: AccessTokens;
  audiences: AudienceRules;
  revoked: RevokedTokens;
  findMachineToken: ReturnType<typeof createMachineTokenFinder>;
}>;

/** The class must be called ClientCredentials: the engine uses the name as record kind and ttl key. */
export function clientCredentialsModel(
  Base: ModelClass,
  { tokens, audiences, revoked, findMachineToken }: MachineTokenParts,
): ModelClass {
  return class ClientCredentials extends Base {
    override async getValueAndPayload() {
      const { payload } = await super.getValueAndPayload();
      if (payload === undefined) throw new TypeError('the engine made a machine token without claims');
      const { clientId: sub, scope, aud = audiences.audienceOf(scope?.split(' ') ?? []) } = payload;
      const value = await signRecord(tokens, payload, { sub, aud });
      // Without a payload the engine stores nothing.
      return { value, payload: undefined };
    }

    static override async find(value: unknown) {
      const jwt = jwtOf(value);
      const found = jwt === undefined ? undefined : await findMachineToken(jwt);
      return found && new this(found);
    }

    override async destroy() {
      await revoked.add(this.jti, this.exp);
      this.emit('destroyed');
    }
  };
}
