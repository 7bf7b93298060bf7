// The hooks of a feature that is on: those of parts.ts, and those for pages.
import type { RequestListener } from 'node:http';
import type Koa from 'koa';
import type { FirstFactor } from '../interaction/follow-link.ts';
import type { Host } from '../interaction/host.ts';
import type { Route, Section } from '../interaction/account-page.ts';
import type { PendingSignIns, SignInPages } from '../interaction/pending-sign-in.ts';
import type { Way } from '../interaction/show.ts';
import type { CachedDocuments } from '../oidc/cached-documents.ts';
import type { Parts } from './parts.ts';

export type PageParts = Parts &
  Readonly<{
    /** Sections of the account page, in its order. */
    sections?: (host: Host) => readonly Section[];
    /** Pages at the paths of its `endpoints`. `sections`: those of all features. */
    routes?: (host: Host, sections: readonly Section[]) => readonly Route[];
    /** A way to sign in besides the password. */
    ways?: (host: Host) => Way;
    /** Email only: the URL where users request a new password or invitation link. */
    newLinkUrl?: string;
    /** Second factors only: the step between the password and the session. */
    pending?: (host: Host, pages: SignInPages) => PendingSignIns;
    /** Second factors only: adds a user's first factor through a one-time link. */
    firstFactor?: (host: Host) => FirstFactor;
    /** Fast path only: answers requests before `listener`, the middleware. */
    front?: (
      host: Host,
      documents: CachedDocuments,
    ) => (listener: ReturnType<Koa['callback']>) => RequestListener;
  }>;
