// The clock of this process, moved by hand: the service of the world runs in this process and reads Date. Time stands still
// between moves; sockets keep their real timers. Use a separate world for a moved clock, and only move it forwards.
import { afterAll, beforeAll, vi } from 'vitest';

export const MINUTE = 60;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** Extra time for a deadline in real time, because a busy machine may be this late. Milliseconds. */
export const MACHINE_MS = 10_000;

/** Moves the clock; it keeps the new time until the block of tests ends. */
export function moveClock(seconds: number): void {
  const target = Date.now() + seconds * 1000;
  if (!vi.isFakeTimers()) vi.useFakeTimers({ toFake: ['Date'] });
  vi.setSystemTime(target);
}

/**
 * For a `describe` that moves the clock; call it once. The clock stands still from the first test on: everything before the
 * first move takes no time, however slow the machine is.
 */
export function standingClock(): void {
  beforeAll(() => moveClock(0));
  afterAll(() => {
    vi.useRealTimers();
  });
}

/** How long `until` waits; only a failing test waits this long. */
const GIVE_UP_MS = 60_000;

/** Resolves when `check` no longer throws. Unlike vi.waitFor, it doesn't move a clock that stands still. */
export async function until(check: () => unknown): Promise<void> {
  const deadline = performance.now() + GIVE_UP_MS;
  for (;;) {
    try {
      await check();
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
