// How `serve` handles an uncaught error: its process exits, because its state may be inconsistent.
import type { Log } from '../observability/log.ts';

const DRAIN_WITHIN_MS = 2000;

/** Exits at the next uncaught error. `drain` sends the finished answers and saves nothing more. */
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
