// The parts of an application's pages: the application and its engine, and what only pages need.
import type { BrowserSessions } from '../oidc/browser-session.ts';
import type { Interactions } from '../oidc/interactions.ts';
import type { EngineApp } from '../oidc/provider.ts';
import type { Csrf } from './csrf.ts';
import type { DeviceCookie } from './trusted-browser-cookie.ts';

export type Host = EngineApp & {
  readonly sessions: BrowserSessions;
  readonly interactions: Interactions;
  readonly csrf: Csrf;
  readonly cookie: DeviceCookie;
};

export const secondsOf = ({ now }: Pick<Host, 'now'>) => Math.floor(now() / 1000);
