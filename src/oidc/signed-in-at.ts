// The sign-in behind a session or a token: what voids it voids everything that came of it, also what was issued a moment later by a
// request that was under way.

import type Provider from 'oidc-provider';
import type { Session } from 'oidc-provider';
import type { Issued } from '../users/accounts.ts';
import { levelOf } from '../users/authentication-methods.ts';
import { generationOf } from './seam/session-sign-in.ts';

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
