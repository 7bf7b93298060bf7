// What a start leaves behind. V8 keeps it until it needs the room, which an idle service never does: 16 MB of 115.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const EVERY_MS = 2000;
/** Of the time since the last look. Collecting holds up everything for 50 to 150 ms: nobody may be waiting. */
const MOST_BUSY = 0.1;

type Collect = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

/** Gives the memory back once: as soon as the service has had nothing to do for a moment. */
export function giveBackStartMemory(): void {
  let before = performance.eventLoopUtilization();
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    if (utilization > MOST_BUSY) return;
    clearInterval(timer);
    // Node has no function for it.
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as Collect;
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  }, EVERY_MS);
  timer.unref();
}
