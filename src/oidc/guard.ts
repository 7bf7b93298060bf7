// Whether a user may have what is asked for, and may still use what they were given: decided by features.
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

/** What is looked at in a code or a token of the engine. */
export type GivenToken = Readonly<{
  kind?: string;
  /** Of a refresh token this is a credential. */
  jti?: string | undefined;
  clientId?: string | undefined;
  accountId?: string | undefined;
  scope?: string | undefined;
  resource?: string | readonly string[] | undefined;
  aud?: Audience | undefined;
  /** Of codes and refresh tokens; access tokens have it among their claims. */
  amr?: Amr | undefined;
  /** Claims. Introspection shows them as they are. */
  extra?: Readonly<Record<string, unknown>> | undefined;
}>;

export type Guard = Readonly<{
  /** At an endpoint of the engine. Removes lost scopes from a code or a refresh token; or revokes its grant and throws. */
  admit?: (ctx: KoaContextWithOIDC, user: Grouped, token: GivenToken) => Promise<boolean>;
  /** At introspection and on the fast path. Removes lost scopes from a refresh token. */
  sees?: (user: Grouped, token: GivenToken) => Promise<boolean>;
  /** Whether the fast path answers for this client as the engine would, with no more than `sees`. */
  isPlain: (client: Client) => boolean;
  /** Whether a session is enough for a page for signed-in users. */
  isEnough?: (session: { readonly amr: Amr; readonly sessionsSince: number }, own: Factors) => boolean;
}>;

/** What users may not have of what an app asks for. */
export type Narrowing = Readonly<{
  isDenied: (user: Grouped, wanted: Wanted) => boolean;
  /** Removes from a request what the signed-in user may not have. False: nothing is left, or they may not use the app. */
  narrow: (ctx: KoaContextWithOIDC) => boolean;
  /** What an interaction stores for `restore`. */
  kept: (ctx: KoaContextWithOIDC) => object;
  /** Gives a resumed request its first scope again: another user may have signed in since. */
  restore: (ctx: KoaContextWithOIDC) => void;
}>;

/** Allows what all guards allow. */
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
