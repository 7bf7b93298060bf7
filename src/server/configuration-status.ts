// Which configuration runs, which one was rejected and why, and which settings wait for a restart. Writes the outcome of each
// reload to the log and the audit trail.
import { type Config, ConfigError } from '../config/config.ts';
import { settingsForRestart } from '../config/restart.ts';
import type { ConfigStatus } from '../http/management.ts';
import type { Telemetry } from '../observability/telemetry.ts';

export type ConfigurationStatus = ReturnType<typeof createConfigurationStatus>;

/** `running` equals `wanted`, except for settings that wait for a restart. */
type Taken = Readonly<{ running: Config; wanted: Config; hash: string }>;

export function createConfigurationStatus(taken: Taken, { log, audit }: Telemetry) {
  let current = taken;
  let problem: string | undefined;
  let warning: string | undefined;

  function read(): ConfigStatus {
    const { running, wanted, hash } = current;
    const pending = settingsForRestart(running, wanted);
    return { hash, problem, warning, pending: pending.length > 0 ? pending : undefined };
  }

  return {
    take: (next: Taken): void => {
      warning = emptiedBy(current.wanted, next.wanted);
      current = next;
      problem = undefined;
      const { hash, pending: keys } = read();
      log.info({ hash }, 'configuration reloaded');
      audit.record('configuration_changed', 'success', { configuration: hash });
      if (warning) log.warn(warning);
      if (keys) log.warn({ keys }, 'these settings take effect at the next start');
    },
    /** The running configuration stays. */
    refuse: (error: unknown): void => {
      if (error instanceof ConfigError) {
        problem = error.message;
        log.error(
          { problems: error.problems },
          'the configuration is invalid, the previous one stays in use',
        );
      } else {
        const message = error instanceof Error ? error.message : String(error);
        const reason = `the configuration could not be applied: ${message}`;
        // The reload is tried again every few seconds.
        if (problem === reason) return;
        problem = reason;
        log.error({ err: error }, 'the configuration could not be applied');
      }
      audit.record('configuration_changed', 'failure', { configuration: current.hash });
    },
    /** The files match the running configuration again; an earlier refusal is cleared. */
    confirm: (): void => {
      if (problem !== undefined) log.info('the configuration is valid again');
      problem = undefined;
    },
    read,
    /** The configuration of the last file that was loaded. */
    wanted: () => current.wanted,
  };
}

/** A change that empties a list is more often a mistake of a script or a mount than a decision. */
function emptiedBy(before: Config, after: Config): string | undefined {
  const lost = (['users', 'clients'] as const)
    .filter((list) => before[list].length > 0 && after[list].length === 0)
    .map((list) => `${list} (${before[list].length})`);
  return lost.length > 0 ? `the new configuration has removed all ${lost.join(' and all ')}` : undefined;
}
