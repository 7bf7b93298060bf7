// The clock of the embedded store: this machine's own, but where that is set back while the process runs. What has ended
// would live again, an expired refresh token for one.
import type { Clock, StoreClock } from '../store.ts';

/** What time servers correct in one step; more is a mistake, or meant. */
const MOST_BACK_MS = 2 * 60 * 1000;
/** Below it, two readings agree. */
const SAME_MS = 2000;

/** Goes on by the time before where `own` jumps back by more than two minutes. A jump forward is followed, and never remembered. */
export function createSteadyClock(own: Clock, onWarning: (message: string) => void): StoreClock {
  // Elapsed time, which nobody sets.
  let base = own() - performance.now();
  let ahead = 0;

  function look(): number {
    const at = own();
    const behindMs = base + performance.now() - at;
    if (behindMs > MOST_BACK_MS) {
      if (Math.abs(behindMs - ahead * 1000) >= SAME_MS) setAhead(Math.round(behindMs / 1000));
    } else {
      // Small steps back add up over months.
      if (behindMs > 0) base -= behindMs;
      if (ahead !== 0) setAhead(0);
    }
    return at;
  }

  function setAhead(seconds: number): void {
    ahead = seconds;
    onWarning(
      seconds === 0
        ? "this machine's clock is right again"
        : `this machine's clock was set back by ${seconds} s: what is stored ends by the time before; set it right, or restart if it is`,
    );
  }

  return {
    now: () => look() + ahead * 1000,
    get ahead() {
      look();
      return ahead;
    },
  };
}
