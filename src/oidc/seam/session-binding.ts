// What a code or a token that ends with its session needs: that the session lives, and is still the same person's. The engine also
// wants the grant to be the one that the session knows for the app. But a session knows one, and requests at the same time
// write over each other: of two tabs that were allowed something at once, one would get a dead code.
import type Provider from 'oidc-provider';

type BoundToken = {
  readonly expiresWithSession?: boolean;
  readonly sessionUid?: string;
  readonly accountId?: string;
};
export type BoundModel = {
  readonly find: (this: BoundModel, value: string, options?: object) => Promise<BoundToken | undefined>;
};

/** A grant that was revoked ends what belongs to it by itself. */
export function bindToSession(model: BoundModel, provider: Provider): void {
  const { find } = model;
  Object.defineProperty(model, 'find', {
    async value(this: BoundModel, value: string, options?: object) {
      const token = await find.call(this, value, { ...options, ignoreSessionBinding: true });
      if (token?.expiresWithSession !== true) return token;
      const session = await provider.Session.findByUid(token.sessionUid ?? '');
      return session !== undefined && session.accountId === token.accountId ? token : undefined;
    },
  });
}
