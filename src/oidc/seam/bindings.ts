// What the engine finds only where it belongs: a code or a token that ends with its session, and an interaction.
import Provider from 'oidc-provider';
import type { BrowserBinding } from '../browser-binding.ts';

type BoundToken = Readonly<{
  expiresWithSession?: boolean;
  sessionUid?: string;
  accountId?: string;
}>;
export type BoundModel = {
  readonly find: (this: BoundModel, value: string, options?: object) => Promise<BoundToken | undefined>;
};

/**
 * A code or a token that ends with its session needs one that lives, and is still the same user's. The engine also wants the grant to
 * be the one that the session knows for the app. But a session knows one, and requests at the same time write over each other: of two
 * tabs that were allowed something at once, one would get a dead code. A grant that was revoked ends what belongs to it by itself.
 */
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

type Marked = { readonly uid: string; readonly browser?: string };
export type BoundInteraction = Readonly<{
  prototype: Marked & { destroy: () => Promise<void> };
  find: (this: BoundInteraction, id: unknown, options?: object) => Promise<Marked | undefined>;
}>;

/**
 * An interaction is found on the engine's way back only in the browser that began it; in any other it isn't there. Its cookies end with
 * it. Outside of a request of the engine, the caller compares.
 */
export function bindToBrowser(model: BoundInteraction, browsers: BrowserBinding): void {
  const { find } = model;
  Object.defineProperty(model, 'find', {
    async value(this: BoundInteraction, id: unknown, options?: object) {
      const found = await find.call(this, id, options);
      const { ctx } = Provider;
      return found && (ctx === undefined || browsers.isOf(ctx, found)) ? found : undefined;
    },
  });
  const { destroy } = model.prototype;
  model.prototype.destroy = async function end(this: Marked) {
    await destroy.call(this);
    const { ctx } = Provider;
    if (ctx === undefined) return;
    browsers.end(ctx, this);
    const { provider, issuer } = ctx.oidc;
    // The engine ends the one of its way back.
    const path = new URL(`${issuer}/interaction/${this.uid}`).pathname;
    ctx.cookies.set(provider.cookieName('interaction'), null, { path, sameSite: 'lax', signed: true });
  };
}
