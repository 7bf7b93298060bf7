// What users may not have of what an app asks for (`access` and `scope_groups`), as the feature that decides it is asked.
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { Grouped } from '../../config/access-rules.ts';
import type { Wanted } from '../guard.ts';

export type Narrowing = Readonly<{
  isDenied: (user: Grouped, wanted: Wanted) => boolean;
  /** Removes from a request what the signed-in user may not have. False: nothing is left, or they may not use the app. */
  narrow: (ctx: KoaContextWithOIDC) => boolean;
  /** What an interaction stores for `restore`. */
  kept: (ctx: KoaContextWithOIDC) => object;
  /** Gives a resumed request its first scope again: another user may have signed in since. */
  restore: (ctx: KoaContextWithOIDC) => void;
}>;
