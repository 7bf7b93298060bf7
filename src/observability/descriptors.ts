// A line of the log before the process has no file descriptors left: then it accepts no connection and opens no file (EMFILE).
import { readdir, readFile } from 'node:fs/promises';
import type { Log } from './log.ts';

const LOOK_EVERY_MS = 5000;
/** As in the alert rule. */
const SCARCE_FROM = 0.8;

/** Looks as long as the process lives, on Linux. */
export function watchDescriptors(log: Pick<Log, 'warn'>): void {
  if (process.platform !== 'linux') return;
  let wasScarce = false;
  setInterval(() => {
    void count().then((counted) => {
      const isScarce = counted === undefined || counted.open > SCARCE_FROM * counted.limit;
      if (isScarce && !wasScarce) {
        log.warn(
          { ...counted },
          'file descriptors run out: raise the limit, or find who keeps so many connections',
        );
      }
      wasScarce = isScarce;
    });
  }, LOOK_EVERY_MS).unref();
}

async function count() {
  try {
    const [names, limits] = await Promise.all([
      readdir('/proc/self/fd'),
      readFile('/proc/self/limits', 'utf8'),
    ]);
    // The soft limit; "unlimited" is no number, and never reached.
    return { open: names.length, limit: Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity) };
  } catch {
    // Looking takes two of them, and they aren't left.
    return undefined;
  }
}
