// A sign-in whose password was right and whose second factor is pending: there is no session yet.
import type { Context } from 'koa';
import type Router from 'koa-router';
import type { SignInAttempt } from '../limits/sign-in-attempts.ts';
import type { OpenInteraction } from '../oidc/open-interaction.ts';
import type { Issued } from '../users/accounts.ts';
import type { Open } from './open.ts';
import type { Show } from './show.ts';

export type PendingSignIn = Readonly<{
  accountId: string;
  username: string;
  /** The sign-in at the time of the password. It ends with the user's earlier sessions. */
  issued: Issued;
  /** Counted as a failure until the sign-in is finished. */
  attempt: SignInAttempt;
}>;

/** The pending sign-ins, handled by the feature of second factors. */
export type PendingSignIns = Readonly<{
  /** From now on, the page of the interaction is the second step. */
  begin: (uid: string, signIn: PendingSignIn) => Promise<void>;
  /** Resolves whether a page was shown: the second step, or a notice. */
  show: (ctx: Context, interaction: OpenInteraction) => Promise<boolean>;
}>;

/** For features that add pages to the sign-in. */
export type SignInPages = Readonly<{ router: Router; open: Open; show: Show }>;
