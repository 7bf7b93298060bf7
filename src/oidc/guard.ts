// Hooks for features that decide what a user may be granted, and whether they may still use it.
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { Grouped } from '../config/access-rules.ts';
import type { Client } from '../config/config.ts';
import type { Audience } from '../tokens/audience.ts';
import type { Amr } from '../users/authentication-methods.ts';
import type { Factors } from '../users/factors.ts';

/** An authorization request, or a code or a token issued for one. */
export type Wanted = Readonly<{
  clientId?: string | undefined;
  scope?: unknown;
  resource?: unknown;
  aud?: unknown;
}>;

export type GivenToken = Readonly<{
  kind?: string;
  /** A credential, if the token is a refresh token. */
  jti?: string | undefined;
  clientId?: string | undefined;
  accountId?: string | undefined;
  scope?: string | undefined;
  resource?: string | readonly string[] | undefined;
  aud?: Audience | undefined;
  /** Only in codes and refresh tokens; access tokens have it among their claims. */
  amr?: Amr | undefined;
  /** Claims that introspection shows unchanged. */
  extra?: Readonly<Record<string, unknown>> | undefined;
}>;

export type Guard = Readonly<{
  /** For endpoints of the engine. Removes lost scopes from a code or a refresh token, or revokes its grant and throws. */
  admit?: (ctx: KoaContextWithOIDC, user: Grouped, token: GivenToken) => Promise<boolean>;
  /** For introspection and the fast path. Removes lost scopes from a refresh token. */
  sees?: (user: Grouped, token: GivenToken) => Promise<boolean>;
  /** Whether `sees` is all that the fast path needs to answer for this client as the engine would. */
  isPlain: (client: Client) => boolean;
  /** Whether a session is enough for the account pages. */
  isEnough?: (session: Readonly<{ amr: Amr; sessionsSince: number }>, own: Factors) => boolean;
}>;

/** Limits what an app asks for to what its user may have. */
export type Narrowing = Readonly<{
  isDenied: (user: Grouped, wanted: Wanted) => boolean;
  /** Removes from a request what the signed-in user may not have. False: nothing is left, or they may not use the app. */
  narrow: (ctx: KoaContextWithOIDC) => boolean;
  /** Members that an interaction stores for `restore`. */
  kept: (ctx: KoaContextWithOIDC) => object;
  /** Restores the original scope of a resumed request, because another user may have signed in since. */
  restore: (ctx: KoaContextWithOIDC) => void;
}>;

/** The result allows only what all of the guards allow. */
export function joinGuards(guards: readonly Guard[]): Required<Guard> {
  return {
    async admit(...args) {
      for (const { admit } of guards) if ((await admit?.(...args)) === false) return false;
      return true;
    },
    async sees(...args) {
      for (const { sees } of guards) if ((await sees?.(...args)) === false) return false;
      return true;
    },
    isPlain: (client) => guards.every(({ isPlain }) => isPlain(client)),
    isEnough: (...args) => guards.every(({ isEnough }) => isEnough?.(...args) !== false),
  };
}
