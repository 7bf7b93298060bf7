// When a service looks at its key ring: for tests that move the clock.
import type { Timer } from '../../src/keys/rotation.ts';

/** Never again: where a test moves the clock for minutes, and back afterwards. */
export const NEVER: Timer = () => () => undefined;

/** When the test says so: where it moves the clock for days. */
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
      // The job asks for its next turn when this one is done.
      const done = new Promise<void>((resolve) => {
        armed = resolve;
      });
      due?.();
      await done;
    },
  };
}
