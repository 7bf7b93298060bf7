// What one application has on its own pages of a feature that is on, besides what parts.ts has.
import type { Host } from '../interaction/host.ts';
import type { Route, Section } from '../interaction/own-page.ts';

export type PageParts = Readonly<{
  /** Of the account page, in its order. */
  sections?: (host: Host) => readonly Section[];
  /** Below its paths, with the sections of all features. */
  routes?: (host: Host, sections: readonly Section[]) => readonly Route[];
}>;
