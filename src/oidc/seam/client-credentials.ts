// Machine tokens: a signed JWT and nothing stored. Issuing one asks the store nothing; revoking one writes a deny record.
import type { AccessTokens } from '../../tokens/access-token.ts';
import type { AudienceRules } from '../../tokens/audience.ts';
import type { RevokedTokens } from '../../tokens/revoked-tokens.ts';
import type { FindMachineToken } from '../machine-tokens.ts';
import { type ModelClass, signRecord } from './model.ts';
import { jwtOf } from './presented-jwt.ts';

/** The class must be called ClientCredentials: the engine uses the name as record kind and ttl key. */
export function clientCredentialsModel(
  Base: ModelClass,
  tokens: AccessTokens,
  audiences: AudienceRules,
  revoked: RevokedTokens,
  findMachineToken: FindMachineToken,
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
