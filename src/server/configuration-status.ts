// Which configuration runs, which one was refused and why, and what waits for a restart. Each outcome of a reload is written
// here to the log, the audit trail and the metrics.
import { type Config, ConfigError } from '../config/config.ts';
import { settingsForRestart } from '../config/restart.ts';
import type { ConfigStatus, PendingSetting } from '../http/management.ts';
import { findKeyFault } from '../keys/open-keys.ts';
import type { Telemetry } from '../observability/telemetry.ts';
import type { Store } from '../store/store.ts';

/** Settings of the stored keys: changing them may make the next start fail. */
const KEY_SETTINGS = ['encryption_keys', 'issuer'];

export type ConfigurationStatus = {
  /** `running` equals `wanted`, except for settings that wait for a restart. */
  readonly taken: (running: Config, wanted: Config, hash: string) => Promise<void>;
  /** The running configuration stays. */
  readonly refuse: (error: unknown) => void;
  /** The files match the running configuration again. */
  readonly confirm: () => void;
  readonly warn: (message: string | undefined) => void;
  readonly read: () => Promise<ConfigStatus>;
};

export function createConfigurationStatus(
  first: { readonly running: Config; readonly wanted: Config; readonly hash: string },
  { store, telemetry: { log, audit, metrics } }: { readonly store: Store; readonly telemetry: Telemetry },
): ConfigurationStatus {
  let { running, wanted, hash } = first;
  let problem: string | undefined;
  let warning: string | undefined;

  async function read(): Promise<ConfigStatus> {
    const pending = await pendingSettings(running, wanted, store);
    return { hash, problem, warning, ...(pending.length > 0 && { pending }) };
  }

  return {
    async taken(...next) {
      [running, wanted, hash] = next;
      problem = undefined;
      log.info({ hash }, 'the configuration was taken over');
      audit.record('configuration_changed', 'success', { configuration: hash });
      metrics.reload('taken');
      const { pending = [] } = await read();
      const keys = pending.map(({ setting }) => setting);
      if (keys.length > 0) log.warn({ keys }, 'these settings take effect at the next start');
      for (const one of pending) {
        if (one.problem !== undefined) log.error(one, 'the next start would be refused');
      }
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
      metrics.reload('refused');
    },
    confirm() {
      if (problem !== undefined) log.info('the configuration is in order again');
      problem = undefined;
    },
    warn(message) {
      warning = message;
      if (message !== undefined) log.warn(message);
    },
    read,
  };
}

/**
 * Which settings of `wanted` wait for a restart, and what would make it fail. Tried each time, because a start elsewhere may have sealed
 * the keys anew. Without an answer from the store, no problem is reported.
 */
async function pendingSettings(
  running: Config,
  wanted: Config,
  store: Store,
): Promise<readonly PendingSetting[]> {
  const settings = settingsForRestart(running, wanted);
  const first = settings.find((setting) => KEY_SETTINGS.includes(setting));
  // The keys of another store can't be tried from here.
  const canTry = first !== undefined && !settings.includes('store');
  const problem = canTry ? await findKeyFault(wanted, store).catch(() => undefined) : undefined;
  return settings.map((setting) => (setting === first ? { setting, problem } : { setting }));
}
