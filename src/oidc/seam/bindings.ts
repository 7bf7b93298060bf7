// Binds codes and tokens to their session, and interactions to their browser: the engine doesn't find them elsewhere.
import Provider from 'oidc-provider';
import type { BrowserBinding } from '../browser-binding.ts';

type BoundToken = Readonly<{ expiresWithSession?: boolean; sessionUid?: string; accountId?: string }>;
export type BoundModel = { find: (value: string, options?: object) => Promise<BoundToken | undefined> };

/**
 * A code or a token that ends with its session needs a live session of the same user. The engine also requires the session's grant for the
 * app. But there is only one, and parallel requests overwrite it: of two tabs that were allowed something at once, one would get a dead
 * code. A revoked grant ends its codes and tokens anyway.
 */
export function bindToSession(model: BoundModel, provider: Provider): void {
  const { find } = model;
  model.find = async function findBound(value, options) {
    const token = await find.call(this, value, { ...options, ignoreSessionBinding: true });
    if (token?.expiresWithSession !== true) return token;
    const session = await provider.Session.findByUid(token.sessionUid ?? '');
    return session !== undefined && session.accountId === token.accountId ? token : undefined;
  };
}

type Marked = Readonly<{ uid: string; browser?: string }>;
export type BoundInteraction = {
  find: (id: unknown, options?: object) => Promise<Marked | undefined>;
  readonly prototype: { destroy: (this: Marked) => Promise<void> };
};

/**
 * At resume, the engine finds an interaction only in the browser that began it. The cookies of the interaction are removed with it.
 * Outside of a request of the engine, the caller compares the browser.
 */
export function bindToBrowser(model: BoundInteraction, browsers: BrowserBinding): void {
  const { find } = model;
  model.find = async function findInBrowser(...args) {
    const found = await find.apply(this, args);
    const { ctx } = Provider;
    return found && (ctx === undefined || browsers.isOf(ctx, found)) ? found : undefined;
  };
  const { destroy } = model.prototype;
  model.prototype.destroy = async function end() {
    await destroy.call(this);
    const { ctx } = Provider;
    if (ctx === undefined) return;
    browsers.end(ctx, this);
    const { provider, issuer } = ctx.oidc;
    // The engine removes the cookie `resume` itself.
    const path = new URL(`${issuer}/interaction/${this.uid}`).pathname;
    ctx.cookies.set(provider.cookieName('interaction'), null, { path, sameSite: 'lax', signed: true });
  };
}
