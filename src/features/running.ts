// What the features do, a line each, loaded where they are on.
import type { Config } from '../config/config.ts';
import type { App } from '../oidc/app.ts';
import { FEATURES } from './index.ts';
import type { Parts } from './parts.ts';

type Running = Readonly<{
  /** Once for each application. */
  open: (app: App) => Parts;
}>;

type Name = (typeof FEATURES)[number]['name'];

const RUN: Readonly<Record<Name, () => Promise<Running>>> = {
  'form-post': () => import('./form-post/run.ts'),
};

/** Those that are on, in the order of the list. */
export const running = (config: Config): Promise<readonly Running[]> =>
  Promise.all(FEATURES.filter((one) => one.isOn(config)).map(({ name }) => RUN[name]()));
