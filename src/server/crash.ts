// What `serve` does about an error that nothing caught: its process ends, because nobody knows what it has left half done.
import type { Log } from '../observability/log.ts';

const DRAIN_WITHIN_MS = 2000;

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
