// Users' access tokens: an ordinary engine record in the store, a signed JWT on the wire. Grant, session binding,
// code replay and refresh reuse stay the engine's own code, because the record is the engine's own.
import Provider, { errors } from 'oidc-provider';
import { isMachineToken } from '../../tokens/access-token.ts';
import type { Audience } from '../../tokens/audience.ts';
import type { App } from '../app.ts';
import { type ModelClass, signRecord } from './model.ts';
import { jwtOf } from './presented-jwt.ts';

/** The class must be called AccessToken: the engine uses the name as record kind, adapter name and ttl key. */
export function accessTokenModel(
  Base: ModelClass,
  { tokens, audiences }: Pick<App, 'tokens' | 'audiences'>,
): ModelClass {
  return class AccessToken extends Base {
    override async getValueAndPayload() {
      const { payload } = await super.getValueAndPayload();
      if (payload === undefined) throw new TypeError('the engine made an access token without a record');
      const { clientId, accountId: sub, scope } = payload;
      if (sub === undefined) throw new TypeError("the engine made a user's token without a user");
      const scopes = scope?.split(' ') ?? [];
      // Computed here and not assigned to the token: with `aud` set, the engine would move all claims into the ID token.
      const { aud = audiences.audienceOf(scopes) } = payload;
      // A scope may have been removed, or have got another owner, since the code was issued.
      if (!audiences.isBacked(aud, scopes, clientId)) throw new errors.InvalidTarget();
      return { value: await signRecord(tokens, payload, { sub, aud }), payload };
    }

    static override async find(value: unknown, options?: object) {
      const jwt = jwtOf(value);
      const claims = jwt === undefined ? undefined : await tokens.verify(jwt);
      if (claims === undefined || isMachineToken(claims)) return undefined;
      const found = await super.find(claims.jti, options);
      if (!found || found.clientId !== claims.client_id || found.accountId !== claims.sub) return undefined;
      if (claims.exp - claims.iat > Math.ceil(found.exp - found.iat)) return undefined;
      found.aud = atUserinfo(claims.aud) ? undefined : claims.aud;
      return found;
    }
  };

  // The engine's userinfo refuses every token with an audience; ours is meant for userinfo if the issuer is one of its audiences.
  function atUserinfo(aud: Audience): boolean {
    return Provider.ctx?.oidc.route === 'userinfo' && [aud].flat().includes(tokens.issuer);
  }
}
