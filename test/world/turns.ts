// When a service checks its key ring: for tests that move the clock.
import type { Timer } from '../../src/keys/rotation.ts';

/** The timer never fires: for tests that move the clock for minutes and then back. */
export const NEVER: Timer = () => () => undefined;

/** The timer fires when the test calls `turn`: for tests that move the clock for days. */
export function createTurns(): { readonly timer: Timer; turn(): Promise<void> } {
  let due: (() => void) | undefined;
  let armed: (() => void) | undefined;
  return {
    timer(fire) {
      due = fire;
      armed?.();
      return () => (due = undefined);
    },
    async turn() {
      // The job schedules its next turn when this one is done.
      const done = new Promise<void>((resolve) => {
        armed = resolve;
      });
      due?.();
      await done;
    },
  };
}
