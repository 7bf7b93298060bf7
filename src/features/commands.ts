// The commands of features, one line each, imported when they are called.
import type { Command } from 'commander';
import type { CliIo } from '../cli/io.ts';
import type { SendLink, UserDetails } from '../cli/user-context.ts';
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
  doctor: async () => (await import('./doctor/commands.ts')).doctorWith(PROBES),
  views: async () => (await import('./view-tools/commands.ts')).registerViews,
  mail: async () => (await import('./mail/commands.ts')).registerMail,
  store: async () => (await import('./store-tools/commands.ts')).registerStore,
};

/** Doctor only: its checks of other features. */
export const PROBES = {
  mail: async () => (await import('./mail/commands.ts')).probeMail,
};

/** Subcommands of `user`. */
export const USER_COMMANDS: Commands = {
  import: async () => (await import('./import/commands.ts')).userImportWith(LINK_SENDERS['mail']),
  factors: async () => (await import('./second-factors/commands.ts')).registerUserFactors,
};

/** Mail only: sends a link instead of printing it. */
export const LINK_SENDERS: Readonly<Record<string, () => Promise<SendLink>>> = {
  mail: async () => (await import('./mail/commands.ts')).sendLink,
};

/** Mail only: more details for `user list NAME`. */
export const USER_DETAILS: Readonly<Record<string, () => Promise<UserDetails>>> = {
  mail: async () => (await import('./mail/commands.ts')).emailRefusal,
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
