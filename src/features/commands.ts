// The commands of features, one line each, imported when they are called.
import type { Command } from 'commander';
import type { CliIo } from '../cli/io.ts';
import type { LoadAdditions } from '../cli/user-context.ts';
import type { Config } from '../config/config.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { Log } from '../observability/log.ts';
import { listOn } from './running.ts';

export type Register = (parent: Command, io: CliIo) => void | Promise<void>;

type Commands = Readonly<Record<string, () => Promise<Register>>>;

export const COMMANDS: Commands = {
  init: async () => (await import('./init/commands.ts')).registerInit,
  migrate: async () => (await import('./import/commands.ts')).registerMigrate,
  plan: async () => (await import('./plan/commands.ts')).registerPlan,
  doctor: async () => (await import('./doctor/commands.ts')).doctorWith(ADDITIONS),
  views: async () => (await import('./view-tools/commands.ts')).registerViews,
  mail: async () => (await import('./mail/commands.ts')).registerMail,
  store: async () => (await import('./store-tools/commands.ts')).registerStore,
};

/** Subcommands of `user`. */
export const USER_COMMANDS: Commands = {
  import: async () => (await import('./import/commands.ts')).userImportWith(ADDITIONS),
  factors: async () => (await import('./second-factors/commands.ts')).registerUserFactors,
};

/** Email only: sends links with `--mail`, and adds details to `user list NAME` and a check to `doctor`. */
export const ADDITIONS: LoadAdditions = {
  mail: () => import('./mail/commands.ts'),
};

/** `serve` in several processes: runs the primary process, and each worker that it starts. */
type Serving = Readonly<{
  asPrimary: (loaded: LoadedConfig, onUp: (log: Log) => void) => Promise<void>;
  asWorker: (file: string) => Promise<void>;
}>;

/** Workers only: replaces `serve` in a single process. */
export const SERVING: Readonly<Record<string, () => Promise<Serving>>> = {
  workers: () => import('./workers/serve.ts'),
};

export const servingOf = (config: Config) => listOn(config).flatMap(({ name }) => SERVING[name] ?? [])[0];
