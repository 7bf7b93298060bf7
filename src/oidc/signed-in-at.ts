// When the user behind a token signed in: what voids sign-ins before a moment voids everything that came of them, also what
// was issued a moment later by a request that was under way, or before by a machine whose clock is ahead of the operator's.

import type Provider from 'oidc-provider';
import type { Session } from 'oidc-provider';
import type { Issued } from '../users/accounts.ts';
import { levelOf } from '../users/authentication-methods.ts';
import { generationOf } from './seam/session-sign-in.ts';

/** What the engine's tokens have of it: codes and refresh tokens `authTime`, access tokens what went into their claims. */
export type TokenOfUser = Readonly<{
  iat: number;
  grantId?: string | undefined;
  authTime?: number | undefined;
  extra?: { readonly auth_time?: unknown } | undefined;
}>;

export function issuedBySession(session: Pick<Session, 'loginTs' | 'amr'>): Issued {
  const isByPassword = levelOf(session.amr) === 'password';
  return { generation: generationOf(session), at: session.loginTs ?? 0, isByPassword };
}

/** The engine asks for the grant of each token anyway: within a request it is read once. */
export async function issuedByToken(provider: Provider, token: TokenOfUser): Promise<Issued> {
  const grant = token.grantId === undefined ? undefined : await provider.Grant.find(token.grantId);
  return issuedWithGrant(grant, token);
}

export function issuedWithGrant(grant: object | undefined, token: TokenOfUser): Issued {
  return { generation: grant && generationOf(grant), at: signedInAt(token) };
}

/** Epoch seconds; never later than the token itself. */
function signedInAt({ iat, authTime, extra }: TokenOfUser): number {
  const times = [iat, authTime, extra?.auth_time];
  return Math.min(...times.filter((time) => typeof time === 'number'));
}
