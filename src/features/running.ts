// The code of the features, one line each, loaded if they are on.
import type { Config } from '../config/config.ts';
import type { Endpoint } from '../config/endpoint-rows.ts';
import type { App, Process } from '../oidc/app.ts';
import type { SessionEnds } from '../oidc/ended-sessions.ts';
import { FEATURES } from './index.ts';
import type { PageParts } from './page-parts.ts';

type Running = Readonly<{
  /** Back-channel logout only: the ended sessions that it must receive. Called before there is an application. */
  sessionEnds?: (config: Config, process: Process) => SessionEnds;
  /** Called once for each application. */
  open: (app: App) => PageParts;
}>;

type Name = (typeof FEATURES)[number]['name'];

const RUN: Readonly<Record<Name, () => Promise<Running>>> = {
  'second-factors': () => import('./second-factors/run.ts'),
  access: () => import('./access/run.ts'),
  account: () => import('./account/run.ts'),
  'device-flow': () => import('./device-flow/run.ts'),
  'form-post': () => import('./form-post/run.ts'),
  'client-documents': () => import('./client-documents/run.ts'),
  'fast-path': () => import('./fast-path/run.ts'),
  'try-out': () => import('./try-out/run.ts'),
  'back-channel-logout': () => import('./back-channel-logout/run.ts'),
  mail: () => import('./mail/run.ts'),
  workers: () => import('./workers/run.ts'),
};

type Listed = Readonly<{ name: Name; endpoints?: readonly Endpoint[]; isOn: (config: Config) => boolean }>;

const LIST: readonly Listed[] = FEATURES;

/** Returns the features that are on, in the order of the list. */
export const listOn = (config: Config) => LIST.filter(({ isOn }) => isOn(config));

export const running = (config: Config): Promise<readonly Running[]> =>
  Promise.all(listOn(config).map(({ name }) => RUN[name]()));

/** The paths that a browser returns to from a sign-in that a feature's page has started. */
export const callbacksOf = (config: Config): readonly string[] =>
  listOn(config).flatMap(({ endpoints = [] }) =>
    endpoints.filter(({ isCallback }) => isCallback).map(({ path }) => path),
  );
