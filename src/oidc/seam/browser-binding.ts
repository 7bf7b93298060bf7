// An interaction is found on the engine's way back only in the browser that began it; in any other it isn't there.
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { BrowserBinding } from '../browser-binding.ts';

type Marked = { readonly browser?: string };
export type BoundInteraction = {
  readonly find: (this: BoundInteraction, id: unknown, options?: object) => Promise<Marked | undefined>;
};

/** `current`: the engine's request, undefined outside of one, where the caller compares. */
export function bindToBrowser(
  model: BoundInteraction,
  browsers: BrowserBinding,
  current: () => KoaContextWithOIDC | undefined,
): void {
  const { find } = model;
  Object.defineProperty(model, 'find', {
    async value(this: BoundInteraction, id: unknown, options?: object) {
      const found = await find.call(this, id, options);
      const ctx = current();
      return found && (ctx === undefined || browsers.isOf(ctx, found.browser)) ? found : undefined;
    },
  });
}
