// The verbs of features, a line each, imported when one is called.
import type { Command } from 'commander';
import type { CliIo } from '../cli/io.ts';

export type Register = (parent: Command, io: CliIo) => void | Promise<void>;

type Commands = Readonly<Record<string, () => Promise<Register>>>;

export const COMMANDS: Commands = {
  init: async () => (await import('./init/commands.ts')).registerInit,
  plan: async () => (await import('./plan/commands.ts')).registerPlan,
  doctor: async () => (await import('./doctor/commands.ts')).registerDoctor,
  views: async () => (await import('./view-tools/commands.ts')).registerViews,
};

/** Below `client`. */
export const CLIENT_COMMANDS: Commands = {
  import: async () => (await import('./import/commands.ts')).registerClientImport,
  pin: async () => (await import('./client-documents/commands.ts')).registerClientPin,
};

/** Below `user`. */
export const USER_COMMANDS: Commands = {
  factors: async () => (await import('./second-factors/commands.ts')).registerUserFactors,
};
