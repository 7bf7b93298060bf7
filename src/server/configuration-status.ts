// Which configuration runs, which one was refused and why, and what waits for a restart. Each outcome of a reload is written
// here to the log and the audit trail.
import { type Config, ConfigError } from '../config/config.ts';
import { settingsForRestart } from '../config/restart.ts';
import type { ConfigStatus } from '../http/management.ts';
import type { Telemetry } from '../observability/telemetry.ts';

export type ConfigurationStatus = Readonly<{
  /** `running` equals `wanted`, except for settings that wait for a restart. */
  taken: (running: Config, wanted: Config, hash: string) => void;
  /** The running configuration stays. */
  refuse: (error: unknown) => void;
  /** The files match the running configuration again. */
  confirm: () => void;
  read: () => ConfigStatus;
  /** As in the file that was taken over last. */
  wanted: () => Config;
}>;

export function createConfigurationStatus(
  first: { readonly running: Config; readonly wanted: Config; readonly hash: string },
  { log, audit }: Telemetry,
): ConfigurationStatus {
  let { running, wanted, hash } = first;
  let problem: string | undefined;
  let warning: string | undefined;

  function read(): ConfigStatus {
    const pending = settingsForRestart(running, wanted);
    return { hash, problem, warning, pending: pending.length > 0 ? pending : undefined };
  }

  return {
    taken(...next) {
      warning = emptiedBy(wanted, next[1]);
      [running, wanted, hash] = next;
      problem = undefined;
      log.info({ hash }, 'the configuration was taken over');
      audit.record('configuration_changed', 'success', { configuration: hash });
      if (warning) log.warn(warning);
      const keys = settingsForRestart(running, wanted);
      if (keys.length > 0) log.warn({ keys }, 'these settings take effect at the next start');
    },
    refuse(error) {
      if (error instanceof ConfigError) {
        problem = error.message;
        log.error({ problems: error.problems }, 'the configuration is broken, the old one goes on');
      } else {
        const message = error instanceof Error ? error.message : String(error);
        const reason = `the configuration could not be taken over: ${message}`;
        // It is tried again every few seconds.
        if (problem === reason) return;
        problem = reason;
        log.error({ err: error }, 'the configuration could not be taken over');
      }
      audit.record('configuration_changed', 'failure', { configuration: hash });
    },
    confirm() {
      if (problem !== undefined) log.info('the configuration is in order again');
      problem = undefined;
    },
    read,
    wanted: () => wanted,
  };
}

/** A change that empties a list is more often the slip of a script or a mount than a decision. */
function emptiedBy(before: Config, after: Config): string | undefined {
  const lost = (['users', 'clients'] as const)
    .filter((list) => before[list].length > 0 && after[list].length === 0)
    .map((list) => `${list} (${before[list].length})`);
  return lost.length > 0 ? `the configuration has lost all ${lost.join(' and all ')}` : undefined;
}
