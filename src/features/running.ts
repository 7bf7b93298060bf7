// What the features do, a line each, loaded where they are on.
import type { Config } from '../config/config.ts';
import type { Endpoint } from '../config/endpoint-rows.ts';
import type { App, Process } from '../oidc/app.ts';
import type { SessionEnds } from '../oidc/ended-sessions.ts';
import { FEATURES } from './index.ts';
import type { PageParts } from './page-parts.ts';

type Running = Readonly<{
  /** Of back-channel logout alone: which ended sessions it has to hear of. Asked before there is an application. */
  sessionEnds?: (config: Config, process: Process) => SessionEnds;
  /** Once for each application. */
  open: (app: App) => PageParts;
}>;

type Load = () => Promise<Running>;

const RUN: Readonly<Record<string, Load>> = {
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
} satisfies Readonly<Record<(typeof FEATURES)[number]['name'], Load>>;

type Listed = Readonly<{ name: string; endpoints?: readonly Endpoint[]; isOn: (config: Config) => boolean }>;

const LIST: readonly Listed[] = FEATURES;

/** Those that are on, in the order of the list. */
export const listOn = (config: Config) => LIST.filter(({ isOn }) => isOn(config));

/** The same, loaded. */
export const running = (config: Config): Promise<readonly Running[]> =>
  Promise.all(listOn(config).flatMap(({ name }) => RUN[name]?.() ?? []));

/** Where the pages of those that are on begin a sign-in, the browser comes back to these paths. */
export const callbacksOf = (config: Config): readonly string[] =>
  listOn(config).flatMap(({ endpoints = [] }) =>
    endpoints.filter(({ isCallback }) => isCallback).map(({ path }) => path),
  );
