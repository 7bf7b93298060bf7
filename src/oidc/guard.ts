// Whether what a user was given may still be used. Features decide it, asked at the endpoints of the engine, on the fast path and at
// pages for signed-in users.
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { Grouped } from '../config/access-rules.ts';
import type { Client } from '../config/config.ts';
import type { Amr } from '../users/authentication-methods.ts';
import type { Factors } from '../users/factors.ts';

/** An authorization request, or a code or a token issued for one. */
export type Wanted = Readonly<{
  clientId?: string | undefined;
  scope?: unknown;
  resource?: unknown;
  aud?: unknown;
}>;

/** Codes and refresh tokens have `amr` themselves, access tokens have it among their claims. */
export type GivenToken = Wanted &
  Readonly<{
    kind?: string;
    accountId?: string | undefined;
    amr?: Amr | undefined;
    extra?: Readonly<Record<string, unknown>> | undefined;
  }>;

export type Guard = Readonly<{
  /** At an endpoint of the engine. Removes lost scopes from a code or a refresh token; or revokes its grant and throws. */
  admit?: (ctx: KoaContextWithOIDC, user: Grouped, token: GivenToken) => Promise<boolean>;
  /** At introspection and on the fast path. Removes lost scopes from a refresh token. */
  sees?: (user: Grouped, token: GivenToken) => Promise<boolean>;
  /** Whether the fast path answers for this client as the engine would, with no more than `sees`. Absent means no. */
  isPlain?: (client: Client) => boolean;
  /** Whether a session is enough for a page for signed-in users. */
  isEnough?: (session: { readonly amr: Amr; readonly sessionsSince: number }, own: Factors) => boolean;
}>;

/** Allows what all guards allow. A feature without a guard is listed as undefined. */
export function joinGuards(all: readonly (Guard | undefined)[]): Required<Guard> {
  const guards = all.filter((guard) => guard !== undefined);
  return {
    async admit(...args) {
      for (const { admit } of guards) if ((await admit?.(...args)) === false) return false;
      return true;
    },
    async sees(...args) {
      for (const { sees } of guards) if ((await sees?.(...args)) === false) return false;
      return true;
    },
    isPlain: (client) => all.every((guard) => guard?.isPlain?.(client) === true),
    isEnough: (...args) => guards.every(({ isEnough }) => isEnough?.(...args) !== false),
  };
}
