// What the features do, a line each, loaded where they are on.
import type { Config } from '../config/config.ts';
import type { App } from '../oidc/app.ts';
import { FEATURES } from './index.ts';
import type { Parts } from './parts.ts';

type Running = Readonly<{
  /** Once for each application. */
  open: (app: App) => Parts;
}>;

type Load = () => Promise<Running>;

const RUN: Readonly<Record<string, Load>> = {
  'form-post': () => import('./form-post/run.ts'),
} satisfies Readonly<Record<(typeof FEATURES)[number]['name'], Load>>;

const LIST: readonly { readonly name: string; readonly isOn: (config: Config) => boolean }[] = FEATURES;

/** Those that are on, in the order of the list. */
export const running = (config: Config): Promise<readonly Running[]> =>
  Promise.all(LIST.flatMap(({ name, isOn }) => (isOn(config) && RUN[name]?.()) || []));
