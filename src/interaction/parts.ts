// What the pages of one application share.
import type { Config } from '../config/config.ts';
import type { Audit } from '../observability/audit.ts';
import type { BrowserSessions } from '../oidc/browser-session.ts';
import type { Clock } from '../store/store.ts';
import type { Accounts } from '../users/accounts.ts';
import type { People } from '../users/people.ts';
import type { Pages } from '../views/pages.ts';
import type { Csrf } from './csrf.ts';

export type PagesParts = {
  readonly config: Config;
  readonly accounts: Accounts;
  readonly people: People;
  readonly sessions: BrowserSessions;
  readonly pages: Pages;
  readonly csrf: Csrf;
  readonly audit: Audit;
  readonly now: Clock;
};
