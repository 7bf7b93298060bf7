// What a session and a grant keep of the sign-in that they came of, besides what the engine does. What voids a sign-in voids everything
// that came of it, also what was issued a moment later by a request that was under way.
import type Provider from 'oidc-provider';
import type { AdapterPayload, KoaContextWithOIDC, Session } from 'oidc-provider';
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

declare module 'oidc-provider' {
  interface Session extends KeptOfSignIn {}
  interface AdapterPayload extends KeptOfSignIn {}
  /** A grant gets its generation where it is made. */
  interface Grant extends Pick<KeptOfSignIn, 'generation'> {}
}

/** The members that keepMembers has to know. */
export const SIGN_IN_MEMBERS = ['generation', 'factorAt', 'sessionsSince', 'place'] as const;

type SessionPrototype = {
  loginAccount: (this: Session, details: Parameters<Session['loginAccount']>[0]) => void;
  authTime: (this: Session) => number | undefined;
};

export function keepSignIn(prototype: SessionPrototype, current: () => KoaContextWithOIDC | undefined) {
  const { loginAccount } = prototype;
  prototype.loginAccount = function login(details) {
    loginAccount.call(this, details);
    // Ours: interactions.ts made it.
    const kept = current()?.oidc.entities.Interaction?.result?.login;
    Object.assign(this, Object.fromEntries(SIGN_IN_MEMBERS.map((name) => [name, kept?.[name]])));
  };
  prototype.authTime = authTime;
}

/** OIDC Core §2: when the user last proved who they are. The session's own end counts from `loginTs`. */
function authTime(this: Session): number | undefined {
  const { loginTs, factorAt = 0 } = this;
  return loginTs === undefined ? undefined : Math.max(loginTs, factorAt);
}

export function issuedBySession({
  generation,
  loginTs: at = 0,
  amr,
}: Pick<Session, 'generation' | 'loginTs' | 'amr'>): Issued {
  return { generation, at, isByPassword: levelOf(amr) === 'password' };
}

/** The engine asks for the grant of each token anyway: within a request it is read once. */
export async function issuedByToken(provider: Provider, { grantId }: Pick<AdapterPayload, 'grantId'>) {
  return issuedWithGrant(grantId === undefined ? undefined : await provider.Grant.find(grantId));
}

export const issuedWithGrant = (grant: Pick<AdapterPayload, 'generation'> | undefined) => ({
  generation: grant?.generation,
});
