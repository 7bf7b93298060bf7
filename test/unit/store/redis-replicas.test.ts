// How many replicas must have a write, over time: a moved clock, no server.
import { describe, expect, it } from 'vitest';
import { createReplicas, type Replicas } from '../../../src/store/redis/replicas.ts';
import { createClock } from '../../store/conformance.ts';

const GRACE = 3000;

/** A master with replicas that can be told how many there are; `quick` of them answer in time. */
function createMaster(least = 1) {
  const clock = createClock();
  const now = () => clock.now();
  const replicas: Replicas = createReplicas(least);
  const state = { online: 2, quick: 2, history: 'a', role: 'master' };
  return {
    state,
    forward: (ms: number) => clock.forward(ms),
    /** As a batch of writes is: WAIT answers with those who are quick, at most those who are asked for or all. */
    write: (): boolean => {
      const { online, quick, history, role } = state;
      replicas.target(now());
      return replicas.areEnough({ role, history, online }, Math.min(quick, online), now());
    },
    asked: () => replicas.target(now()),
    lower: () => replicas.lower(GRACE, now()),
  };
}

describe('the replicas that must have a write', () => {
  it('RD-18: are all that were there, from the first answer on', () => {
    const { write, asked, state } = createMaster();
    expect(write()).toBe(true);
    expect(asked()).toBe(2);
    [state.online, state.quick] = [1, 1];
    expect(write()).toBe(false);
  });

  it('are fewer only after the grace period, counted from the last one that went', () => {
    const { write, state, forward, lower } = createMaster();
    [state.online, state.quick] = [3, 3];
    write();
    state.online = 2;
    expect(write()).toBe(false);
    forward(GRACE - 1);
    lower();
    expect(write()).toBe(false);
    state.online = 1;
    expect(write()).toBe(false);
    forward(GRACE - 1);
    lower();
    expect(write()).toBe(false);
    forward(1);
    lower();
    expect(write()).toBe(true);
  });

  it('are one at least, or as many as the URL says, whatever the grace period', () => {
    for (const least of [1, 2]) {
      const { write, state, forward, lower } = createMaster(least);
      write();
      state.online = least - 1;
      for (let round = 0; round < 10; round += 1) {
        expect(write()).toBe(false);
        forward(GRACE);
        lower();
      }
      state.online = least;
      expect(write()).toBe(true);
    }
  });

  it('are more again as soon as one came back', () => {
    const { write, asked, state, forward, lower } = createMaster();
    write();
    state.online = 1;
    write();
    forward(GRACE);
    lower();
    expect(write()).toBe(true);
    state.online = 2;
    expect(write()).toBe(true);
    expect(asked()).toBe(2);
    expect(write()).toBe(true);
    state.online = 1;
    expect(write()).toBe(false);
  });

  it('are not many for ever where one comes and goes: each time it must have been there longer', () => {
    const { write, state, forward, lower } = createMaster();
    write();
    let refused = 0;
    const seconds = 1200;
    for (let second = 0; second < seconds; second += 1) {
      state.online = second % 6 < 3 ? 2 : 1;
      if (!write()) refused += 1;
      forward(1000);
      lower();
    }
    expect(refused).toBeGreaterThan(0);
    expect(refused).toBeLessThan(seconds / 20);
  });

  it('leave out one that is there and too slow, and wait for it only now and then', () => {
    const { write, asked, state, forward, lower } = createMaster();
    state.quick = 1;
    expect(write()).toBe(false);
    forward(GRACE);
    lower();
    let waited = 0;
    for (let round = 0; round < 600; round += 1) {
      if (asked() === 2) waited += 1;
      expect(write()).toBe(true);
      forward(100);
    }
    expect(waited).toBeLessThan(20);
    state.quick = 2;
    for (let round = 0; round < 100; round += 1) {
      expect(write()).toBe(true);
      forward(100);
    }
    state.quick = 1;
    expect(write()).toBe(false);
  });

  it('RD-18: do not stand in for one that was promoted, where one was too slow to count before', () => {
    const { write, state, forward, lower } = createMaster();
    [state.online, state.quick] = [3, 2];
    write();
    forward(GRACE);
    lower();
    expect(write()).toBe(true);
    // The promoted one is gone, and the slow one was quick for once.
    [state.online, state.quick] = [2, 2];
    expect(write()).toBe(false);
  });

  it('RD-18: are more as soon as one has joined, however slow it is, and it is left out after the grace period only', () => {
    const { write, state, forward, lower } = createMaster();
    [state.online, state.quick] = [1, 1];
    expect(write()).toBe(true);
    state.online = 2;
    expect(write()).toBe(false);
    forward(GRACE - 1);
    lower();
    expect(write()).toBe(false);
    forward(1);
    lower();
    expect(write()).toBe(true);
  });

  it('RD-18: are more where one joins a new master', () => {
    const { write, state } = createMaster();
    write();
    Object.assign(state, { history: 'b', online: 1, quick: 1 });
    expect(write()).toBe(true);
    state.online = 2;
    expect(write()).toBe(false);
  });

  it('RD-18: are more while one is there that has come and gone too often to be missed', () => {
    const { write, state, forward, lower } = createMaster();
    for (let second = 0; second < 120; second += 1) {
      state.online = second % 12 < 6 ? 2 : 1;
      write();
      forward(1000);
      lower();
    }
    state.online = 1;
    expect(write()).toBe(true);
    state.online = 2;
    expect(write()).toBe(true);
    state.quick = 1;
    expect(write()).toBe(false);
  });

  it('are not more for ever where one joins again and again and is always too slow', () => {
    const { write, state, forward, lower } = createMaster();
    state.quick = 1;
    let refused = 0;
    const seconds = 1200;
    for (let second = 0; second < seconds; second += 1) {
      state.online = second % 20 < 10 ? 2 : 1;
      if (!write()) refused += 1;
      forward(1000);
      lower();
    }
    expect(refused).toBeGreaterThan(0);
    expect(refused).toBeLessThan(seconds / 20);
  });

  it('are counted anew on another master, and nothing counts on one that is no master', () => {
    const { write, state } = createMaster();
    write();
    Object.assign(state, { history: 'b', online: 1 });
    expect(write()).toBe(true);
    state.role = 'slave';
    expect(write()).toBe(false);
  });
});
