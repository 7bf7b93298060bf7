// The clock of this process, moved by hand: the service of the world runs in it and reads Date. Time stands still
// between moves, and sockets keep their real timers. Give a moved clock a world of its own and only move it forwards.
import { afterAll, beforeAll, vi } from 'vitest';

export const MINUTE = 60;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** What a deadline in real time is given on top, because a busy machine may be late by so much. Milliseconds. */
export const MACHINE_MS = 10_000;

/** Moves the clock and leaves it there until the block of tests ends. */
export function moveClock(seconds: number): void {
  const target = Date.now() + seconds * 1000;
  if (!vi.isFakeTimers()) vi.useFakeTimers({ toFake: ['Date'] });
  vi.setSystemTime(target);
}

/**
 * Once in a `describe` that moves the clock. It stands still from the first test on: what a test does before its first
 * move takes no time, however slow the machine is.
 */
export function standingClock(): void {
  beforeAll(() => moveClock(0));
  afterAll(() => {
    vi.useRealTimers();
  });
}

/** Only a test that fails waits so long for what must come. */
const GIVE_UP_MS = 60_000;

/** Resolves once `check` throws no more. As vi.waitFor, which would move a clock that stands still. */
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
