// What the pages of one application are made of: the application and its engine, and what only pages need.
import type { SignInSettings } from '../config/config.ts';
import type { BrowserSessions } from '../oidc/browser-session.ts';
import type { Interactions } from '../oidc/interactions.ts';
import type { Engine } from '../oidc/provider.ts';
import type { Enrolment } from '../users/enrolment.ts';
import type { PasskeyAuthentication } from '../users/passkey-authentication.ts';
import type { SignInByPasskey } from '../users/passkey-sign-in.ts';
import type { ProveCode } from '../users/second-factor.ts';
import type { Csrf } from './csrf.ts';
import type { HalfSignIns } from './half-sign-ins.ts';
import type { DeviceCookie } from './trusted-browser-cookie.ts';

export type SecondFactors = Readonly<{
  settings: NonNullable<SignInSettings>;
  enrolment: Enrolment;
  halves: HalfSignIns;
  /** Undefined while passkeys are off. */
  passkeys: PasskeyAuthentication | undefined;
  proveCode: ProveCode;
  signInByPasskey: SignInByPasskey;
}>;

export type Host = Engine & {
  readonly sessions: BrowserSessions;
  readonly interactions: Interactions;
  readonly csrf: Csrf;
  readonly cookie: DeviceCookie;
  /** Undefined where the file says nothing of them. */
  readonly second: SecondFactors | undefined;
};

export const secondsOf = ({ now }: Pick<Host, 'now'>): number => Math.floor(now() / 1000);
