// What one application has on its own pages, and in front of all, of a feature that is on, besides what parts.ts has.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Host } from '../interaction/host.ts';
import type { Route, Section } from '../interaction/own-page.ts';

export type PageParts = Readonly<{
  /** Of the account page, in its order. */
  sections?: (host: Host) => readonly Section[];
  /** Below its paths, with the sections of all features. */
  routes?: (host: Host, sections: readonly Section[]) => readonly Route[];
  /** Of the fast path alone: what stands in front of the middleware. */
  front?: (host: Host, documents: RenderedDocuments) => (list: Listener) => RequestListener;
}>;

type Listener = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

type Rendered = { readonly body: string; readonly headers: Readonly<Record<string, string>> };

/** By the engine, once; found by the path below the issuer. */
export type RenderedDocuments = { readonly find: (path: string) => Rendered | undefined };
