// What a feature that is on does: the hooks of parts.ts, and with pages these.
import type { RequestListener } from 'node:http';
import type Koa from 'koa';
import type { FirstFactor } from '../interaction/follow-link.ts';
import type { Host } from '../interaction/host.ts';
import type { Route, Section } from '../interaction/own-page.ts';
import type { PendingSignIns, SignInPages } from '../interaction/pending-sign-in.ts';
import type { Way } from '../interaction/show.ts';
import type { CachedDocuments } from '../oidc/cached-documents.ts';
import type { Parts } from './parts.ts';

export type PageParts = Parts &
  Readonly<{
    /** Sections of the account page, in its order. */
    sections?: (host: Host) => readonly Section[];
    /** Pages at paths of its `endpoints`. `sections`: of all features. */
    routes?: (host: Host, sections: readonly Section[]) => readonly Route[];
    /** A way to sign in, beside the password. */
    ways?: (host: Host) => Way;
    /** Email only: where users request a new password or invitation link by themselves. */
    newLinkUrl?: string;
    /** Second factors only: the step between the password and the session. */
    pending?: (host: Host, pages: SignInPages) => PendingSignIns;
    /** Second factors only: what a one-time link adds to its user. */
    firstFactor?: (host: Host) => FirstFactor;
    /** Fast path only: answers requests in front of `listener`, the middleware. */
    front?: (
      host: Host,
      documents: CachedDocuments,
    ) => (listener: ReturnType<Koa['callback']>) => RequestListener;
  }>;
