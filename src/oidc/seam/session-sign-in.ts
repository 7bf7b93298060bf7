// What a session and a grant keep of the sign-in that they came of, besides what the engine does. What voids a sign-in voids everything
// that came of it, also what was issued a moment later by a request that was under way.
import type Provider from 'oidc-provider';
import type { KoaContextWithOIDC, Session } from 'oidc-provider';
import type { Issued } from '../../users/accounts.ts';
import { levelOf } from '../../users/authentication-methods.ts';
import type { Place } from '../../users/user-index.ts';

/** Our login results have the same for `keepSignIn`. */
type KeptOfSignIn = {
  /** That of the user (accounts.ts). */
  generation?: string | undefined;
  /** Epoch seconds of the last second factor. */
  factorAt?: number | undefined;
  /** That of the user's factors. */
  sessionsSince?: number | undefined;
  /** Where users can see their sessions. */
  place?: Place | undefined;
};
type OfSignIn = KeptOfSignIn & { readonly loginTs?: number | undefined };
export type SessionClass = {
  readonly prototype: {
    loginAccount: (this: OfSignIn, details: object) => void;
    authTime: (this: OfSignIn) => number | undefined;
  };
};

/** The members that keepMembers has to know. */
export const SIGN_IN_MEMBERS = ['generation', 'factorAt', 'sessionsSince', 'place'] as const;

/** A grant gets its generation where it is made. */
export function keepSignIn({ prototype }: SessionClass, current: () => KoaContextWithOIDC | undefined): void {
  const { loginAccount } = prototype;
  prototype.loginAccount = function login(details) {
    loginAccount.call(this, details);
    // Ours: interactions.ts made it.
    const kept = (current()?.oidc.entities.Interaction?.result?.login ?? {}) as KeptOfSignIn;
    Object.assign(this, Object.fromEntries(SIGN_IN_MEMBERS.map((name) => [name, kept[name]])));
  };
  prototype.authTime = authTime;
}

/** OIDC Core §2: when the user last proved who they are. The session's own end counts from `loginTs`. */
function authTime(this: OfSignIn): number | undefined {
  const { loginTs, factorAt = 0 } = this;
  return loginTs === undefined ? undefined : Math.max(loginTs, factorAt);
}

/** Undefined of what an earlier version made. */
export function generationOf(model: object): string | undefined {
  const { generation } = model as { readonly generation?: unknown };
  return typeof generation === 'string' ? generation : undefined;
}

/** Of a session. */
export const factorAtOf = (session: object): number | undefined => (session as OfSignIn).factorAt;

/** Of a session; 0 of one from before. */
export const sessionsSinceOf = (session: object): number => (session as OfSignIn).sessionsSince ?? 0;

export type TokenOfUser = { readonly grantId?: string | undefined };

export function issuedBySession(session: Pick<Session, 'loginTs' | 'amr'>): Issued {
  const isByPassword = levelOf(session.amr) === 'password';
  return { generation: generationOf(session), at: session.loginTs ?? 0, isByPassword };
}

/** The engine asks for the grant of each token anyway: within a request it is read once. */
export async function issuedByToken(provider: Provider, { grantId }: TokenOfUser) {
  return issuedWithGrant(grantId === undefined ? undefined : await provider.Grant.find(grantId));
}

export const issuedWithGrant = (grant: object | undefined) => ({ generation: grant && generationOf(grant) });
