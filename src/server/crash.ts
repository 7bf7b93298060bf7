// What `serve` does about an error that nothing caught: its process ends, because nobody knows what it has left half done.
import type { Log } from '../observability/log.ts';

const DRAIN_WITHIN_MS = 2000;
const AWAY_SECONDS = 10;

/** From now on. `drain` lets go what is finished, and saves nothing more. */
export function exitOnCrash(log: Log, drain: () => Promise<void>): void {
  let isEnding = false;
  function crash(error: unknown): void {
    // What fails now is a consequence.
    if (isEnding) return;
    isEnding = true;
    setTimeout(() => process.exit(1), DRAIN_WITHIN_MS);
    log.fatal({ err: error instanceof Error ? error : typeof error }, 'uncaught error: the process exits');
    void drain().finally(() => process.exit(1));
  }
  process.on('uncaughtException', crash);
  process.on('unhandledRejection', crash);
}

/** Says from now on for how long this process didn't run: requests waited. Date goes on while the machine sleeps. */
export function reportAbsences(log: Log): void {
  let at = Date.now();
  setInterval(() => {
    const awaySeconds = Math.round((Date.now() - at) / 1000);
    at = Date.now();
    if (awaySeconds >= AWAY_SECONDS)
      log.warn({ awaySeconds }, 'this process did not run for a while: suspended, blocked or out of CPU');
  }, 1000).unref();
}
