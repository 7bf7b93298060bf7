// What one application has on its own pages, and in front of all, of a feature that is on, besides what parts.ts has.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type Router from 'koa-router';
import type { Context } from 'koa';
import type { Host } from '../interaction/host.ts';
import type { Open } from '../interaction/open.ts';
import type { Route, Section } from '../interaction/own-page.ts';
import type { Show, Way } from '../interaction/show.ts';
import type { SignInAttempt } from '../limits/sign-in-attempts.ts';
import type { OpenInteraction } from '../oidc/open-interaction.ts';
import type { Issued } from '../users/accounts.ts';

export type PageParts = Readonly<{
  /** Of the account page, in its order. */
  sections?: (host: Host) => readonly Section[];
  /** Below its paths, with the sections of all features. */
  routes?: (host: Host, sections: readonly Section[]) => readonly Route[];
  /** A way to sign in beside the password. */
  ways?: (host: Host) => Way;
  /** Between the first factor and the session: of second factors alone. `router`: of the sign-in pages. */
  pending?: (host: Host, pages: SignInPages) => PendingSignIn;
  /** Of the fast path alone: what stands in front of the middleware. */
  front?: (host: Host, documents: RenderedDocuments) => (list: Listener) => RequestListener;
}>;

export type SignInPages = Readonly<{ router: Router; open: Open; show: Show }>;

export type HalfSignIn = Readonly<{
  accountId: string;
  username: string;
  /** The time of the password: what ends the user's sessions from before ends this as well. */
  issued: Issued;
  /** Counted, and forgotten when the whole sign-in is done. */
  attempt: SignInAttempt;
}>;

export type PendingSignIn = Readonly<{
  /** The page of the interaction is the second step from now on; nothing else remembers the password. */
  begin: (uid: string, half: HalfSignIn) => Promise<void>;
  /** Resolves whether a page was shown: somebody is at their second step, or has something to read. */
  show: (ctx: Context, interaction: OpenInteraction) => Promise<boolean>;
}>;

type Listener = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

type Rendered = { readonly body: string; readonly headers: Readonly<Record<string, string>> };

/** By the engine, once; found by the path below the issuer. */
export type RenderedDocuments = { readonly find: (path: string) => Rendered | undefined };
