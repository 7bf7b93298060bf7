// How a machine follows the clock of a Redis server, by reports as in INFO.
import { describe, expect, it } from 'vitest';
import { createServerClock } from '../../../src/store/redis/clock.ts';
import type { ServerReport } from '../../../src/store/redis/connection.ts';

const START = 1_800_000_000_000;

function report(serverMs: number | undefined, name = 'a:1'): ServerReport {
  const fields = serverMs === undefined ? [] : [['server_time_usec', String(serverMs * 1000)] as const];
  return { name, info: new Map(fields), findings: [] };
}

function clockOff(offSeconds: number) {
  let own = START;
  const clock = createServerClock(() => own);
  return {
    clock,
    /** Simulates an INFO that took this long, answered by the server halfway. */
    hear: (awayMs = 10, off = offSeconds) => {
      const askedAt = own;
      own += awayMs;
      return clock.follow([report(askedAt + awayMs / 2 + off * 1000)], askedAt);
    },
  };
}

describe('the clock that machines on one Redis have in common', () => {
  it.each([120, -120, 3, 86_400])('RD-28: is the server’s where this machine is %i s off', (off) => {
    const { clock, hear } = clockOff(off);
    expect(clock.now()).toBe(START);
    expect(hear()).toBe(true);
    expect(clock.ahead).toBe(off);
    expect(clock.now()).toBe(START + 10 + off * 1000);
  });

  it('RD-28: is this machine’s own where both are right, to the millisecond', () => {
    const { clock, hear } = clockOff(0);
    for (const [away, off] of [
      [10, 0],
      [1500, 0.4],
      [3, -1.9],
      [3, 1.9],
    ] as const) {
      expect(hear(away, off)).toBe(false);
      expect(clock.ahead).toBe(0);
    }
  });

  it('RD-28: learns nothing from an answer that a machine slept over, nor from one over which its clock was set back', () => {
    const { clock, hear } = clockOff(0);
    expect(hear(600_000)).toBe(false);
    expect(clock.follow([report(START)], clock.now() + 5000)).toBe(false);
    expect(clock.ahead).toBe(0);
  });

  it('RD-28: is the same server’s for everybody, in whatever order a machine knows them', () => {
    const reports = [report(START + 60_000, 'a:1'), report(START - 60_000, 'b:1')];
    for (const seen of [reports, reports.toReversed()]) {
      const clock = createServerClock(() => START);
      clock.follow(seen, START);
      expect(clock.ahead).toBe(60);
    }
  });
});
