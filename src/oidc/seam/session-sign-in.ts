// What sessions and grants store of their sign-in, besides the engine's own members. Revoking a sign-in revokes everything that was
// issued from it, even what a request in progress issues a moment later.
import type Provider from 'oidc-provider';
import type { AdapterPayload, KoaContextWithOIDC, Session } from 'oidc-provider';
import type { Issued } from '../../users/accounts.ts';
import { levelOf } from '../../users/authentication-methods.ts';
import type { Place } from '../../users/user-index.ts';

/** Our login results have the same members for `keepSignIn`. */
type KeptOfSignIn = {
  generation?: string | undefined;
  /** Epoch seconds of the last second factor. */
  factorAt?: number | undefined;
  sessionsSince?: number | undefined;
  /** Only set if users can see their sessions. */
  place?: Place | undefined;
};

declare module 'oidc-provider' {
  interface Session extends KeptOfSignIn {}
  /** `listed`: the `loginTs` in the user's list. `usedAt`: when the session was last saved, in epoch seconds. */
  interface AdapterPayload extends KeptOfSignIn {
    listed?: number | undefined;
    usedAt?: number | undefined;
  }
  /** A grant gets its generation when it is created. */
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
    // Our own login result, from interactions.ts.
    const kept = current()?.oidc.entities.Interaction?.result?.login;
    Object.assign(this, Object.fromEntries(SIGN_IN_MEMBERS.map((name) => [name, kept?.[name]])));
  };
  prototype.authTime = authTime;
}

/** OIDC Core §2: when the user last proved their identity. The session's lifetime counts from `loginTs`. */
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

/** The engine reads the grant of each token anyway, and a request reads it only once. */
export async function issuedByToken(provider: Provider, { grantId }: Pick<AdapterPayload, 'grantId'>) {
  return issuedWithGrant(grantId === undefined ? undefined : await provider.Grant.find(grantId));
}

export const issuedWithGrant = (grant: Pick<AdapterPayload, 'generation'> | undefined) => ({
  generation: grant?.generation,
});
