// What the pages of one application are made of: one object, passed whole.
import type { Config } from '../config/config.ts';
import type { Limits } from '../limits/limits.ts';
import type { Audit } from '../observability/audit.ts';
import type { BrowserSessions } from '../oidc/browser-session.ts';
import type { FindClient } from '../oidc/clients.ts';
import type { Interactions } from '../oidc/interactions.ts';
import type { PersonGrants } from '../oidc/person-grants.ts';
import type { PersonIndex } from '../oidc/person-index.ts';
import type { PersonSessions } from '../oidc/person-sessions.ts';
import type { Clock } from '../store/store.ts';
import type { AccountStates } from '../users/account-state.ts';
import type { Accounts } from '../users/accounts.ts';
import type { Enrolment } from '../users/enrolment.ts';
import type { FactorStore } from '../users/factors.ts';
import type { MakePassword } from '../users/new-passwords.ts';
import type { OneTimeLinks } from '../users/one-time-links.ts';
import type { PasskeyAuthentication } from '../users/passkey-authentication.ts';
import type { SignInByPasskey } from '../users/passkey-sign-in.ts';
import type { People } from '../users/people.ts';
import type { ProveCode } from '../users/second-factor.ts';
import type { SignIn } from '../users/sign-in.ts';
import type { TrustedBrowsers } from '../users/trusted-browsers.ts';
import type { Pages } from '../views/pages.ts';
import type { Csrf } from './csrf.ts';
import type { HalfSignIns } from './half-sign-ins.ts';
import type { Tell } from './tell.ts';
import type { DeviceCookie } from './trusted-browser-cookie.ts';

export type SecondFactors = {
  readonly settings: NonNullable<Config['signIn']>;
  readonly factors: FactorStore;
  readonly enrolment: Enrolment;
  readonly halves: HalfSignIns;
  /** Undefined while passkeys are off. */
  readonly passkeys: PasskeyAuthentication | undefined;
  readonly proveCode: ProveCode;
  readonly signInByPasskey: SignInByPasskey;
};

export type AccountPage = {
  readonly findClient: FindClient;
  readonly personSessions: PersonSessions;
  readonly grants: PersonGrants;
  readonly index: PersonIndex;
};

export type Host = {
  readonly config: Config;
  readonly accounts: Accounts;
  readonly people: People;
  readonly states: AccountStates;
  readonly sessions: BrowserSessions;
  readonly interactions: Interactions;
  readonly pages: Pages;
  readonly csrf: Csrf;
  readonly audit: Audit;
  readonly limits: Limits;
  readonly checkPassword: SignIn;
  readonly trustedBrowsers: TrustedBrowsers;
  readonly cookie: DeviceCookie;
  readonly links: OneTimeLinks;
  readonly makePassword: MakePassword;
  /** As UnitOfWork has it. */
  readonly flush: () => Promise<void>;
  /** As PersonSessions have it. */
  readonly endVoid: PersonSessions['endVoid'];
  readonly now: Clock;
  /** Of the store. */
  readonly storeNow: Clock;
  /** Undefined where the file says nothing of them. */
  readonly second: SecondFactors | undefined;
  /** Undefined while there is no account page. */
  readonly account: AccountPage | undefined;
  /** Does nothing where people can't look. */
  readonly tell: Tell;
};

export const secondsOf = ({ now }: Pick<Host, 'now'>): number => Math.floor(now() / 1000);
