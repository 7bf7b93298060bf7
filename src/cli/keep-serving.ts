// Runs a started service until a signal stops it, in a single process or a worker.
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { loadInThread } from '../config/load-in-thread.ts';
import type { LoadedConfig } from '../config/load.ts';
import { watchConfig } from '../config/watch.ts';
import type { Log } from '../observability/log.ts';
import type { OpenTelemetry } from '../observability/telemetry.ts';
import type { Server } from '../server/server.ts';

/** lmdb prints each commit that fails and can't be redirected: this logs it as a line of JSON like all others. */
export function logConsole(log: Log): void {
  function error(...said: readonly unknown[]): void {
    const err = said.find((one) => one instanceof Error);
    // LMDB's own C code has printed "Write error: …" without a newline; the next line must not continue it.
    process.stderr.write('\n');
    log.warn({ err, said: said.filter((one) => one !== err).map(String) }, 'a dependency reported an error');
  }
  Object.assign(console, { error });
}

const DRAIN_WITHIN_MS = 2000;

/** Exits at the next uncaught error, because the state of the process may be inconsistent. `drain` sends the finished answers and saves nothing more. */
export function exitOnCrash(log: Log, drain: () => Promise<void>): void {
  let isEnding = false;
  function crash(error: unknown): void {
    // Further errors are consequences.
    if (isEnding) return;
    isEnding = true;
    setTimeout(() => process.exit(1), DRAIN_WITHIN_MS);
    log.fatal({ err: error instanceof Error ? error : typeof error }, 'uncaught error: the process exits');
    void drain().finally(() => process.exit(1));
  }
  process.on('uncaughtException', crash);
  process.on('unhandledRejection', crash);
}

const WATCH_STOPS_WITHIN_MS = 1000;

export type Started = Readonly<{ server: Server; telemetry: OpenTelemetry }>;

type KeepServingParts = Started & {
  readonly file: string;
  readonly loaded: LoadedConfig;
  readonly onUp: () => void;
  /** The service runs another configuration now. */
  readonly onTaken?: (loaded: LoadedConfig) => void;
  readonly stopped: Promise<void>;
};

/** Reloads the configuration of a started server when its files change, and stops the server gracefully. */
export async function keepServing(parts: KeepServingParts): Promise<void> {
  const { file, loaded, server, telemetry, onUp, onTaken, stopped } = parts;
  exitOnCrash(telemetry.log, async () => {
    await server.abandon();
    await telemetry.close();
  });
  let known = loaded.config.notices;
  const watch = await watchConfig({
    file,
    current: loaded,
    load: loadInThread,
    async onConfig(changed) {
      await server.replace({ config: changed.config, hash: changed.hash });
      for (const notice of changed.config.notices) if (!known.includes(notice)) telemetry.log.warn(notice);
      known = changed.config.notices;
      onTaken?.(changed);
    },
    onUnchanged: server.confirm,
    onError: server.refuse,
  });
  const reload = () => {
    telemetry.reopen();
    void server.reloadViews();
    watch.reload();
  };
  process.on('SIGHUP', reload);
  onUp();
  await stopped;
  process.off('SIGHUP', reload);
  // With a time limit, because a mount that hangs may block the last look.
  await Promise.race([watch.stop(), delay(WATCH_STOPS_WITHIN_MS, undefined, { ref: false })]);
  await server.stop();
  await telemetry.close();
}

/** Resolves at the first signal. A second signal ends the process at once. */
export async function untilStopped(): Promise<void> {
  const stopped = new AbortController();
  const { signal } = stopped;
  await Promise.race(['SIGINT', 'SIGTERM'].map((name) => once(process, name, { signal })));
  stopped.abort();
}
