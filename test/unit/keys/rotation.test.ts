import { afterEach, describe, expect, it } from 'vitest';
import type { KeySet } from '../../../src/keys/key-set.ts';
import { compromiseKey, rotateByHand } from '../../../src/keys/ring-actions.ts';
import { createRotation, type Rotation, type RotationOptions } from '../../../src/keys/rotation.ts';
import { createWorld, DAY, MINUTE, SECOND, type World } from './keys.fixture.ts';

type Job = {
  readonly rotation: Rotation;
  readonly sets: KeySet[];
  readonly errors: unknown[];
  readonly timers: { fire: () => void; delayMs: number; isCancelled: boolean }[];
  failSwap: boolean;
};

const started: Rotation[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((rotation) => rotation.stop()));
});

function createJob(world: World, overrides: Partial<RotationOptions> = {}): Job {
  const job: Omit<Job, 'rotation'> = { sets: [], errors: [], timers: [], failSwap: false };
  const rotation = createRotation({
    keyStore: world.process(),
    now: world.now,
    onKeySet: (keySet) => {
      if (whole.failSwap) throw new Error('the self-test failed');
      job.sets.push(keySet);
    },
    onError: (error) => job.errors.push(error),
    timer: (fire, delayMs) => {
      const timer = { fire, delayMs, isCancelled: false };
      job.timers.push(timer);
      return () => {
        timer.isCancelled = true;
      };
    },
    ...overrides,
  });
  const whole: Job = Object.assign(job, { rotation });
  started.push(rotation);
  return whole;
}

function createGate(): { readonly passed: Promise<void>; open(): void } {
  const listeners: (() => void)[] = [];
  return {
    passed: new Promise((resolve) => listeners.push(resolve)),
    open: () => listeners.forEach((resolve) => resolve()),
  };
}

describe('the rotation job', () => {
  it('hands out the first key set before the start is done', async () => {
    const world = createWorld();
    const { rotation, sets } = createJob(world);
    expect(() => rotation.current()).toThrow('not started');
    await rotation.start();
    expect(sets).toEqual([rotation.current()]);
    expect(rotation.current().active.kid).toBe('k1');
  });

  it('KY-15: does not start on keys that can not be used', async () => {
    const world = createWorld();
    world.documents.force('keys', 'ring', '{}', 1);
    const { rotation, sets, timers } = createJob(world);
    await expect(rotation.start()).rejects.toMatchObject({ name: 'KeyStoreError' });
    expect([sets, timers]).toEqual([[], []]);
  });

  it('does not start with a key set that can not be swapped in', async () => {
    const job = createJob(createWorld());
    job.failSwap = true;
    await expect(job.rotation.start()).rejects.toThrow('self-test');
    expect(job.timers).toEqual([]);
  });

  it('swaps nothing while nothing changes', async () => {
    const { rotation, sets } = createJob(createWorld());
    await rotation.start();
    for (let count = 0; count < 5; count += 1) await rotation.tick();
    expect(sets).toHaveLength(1);
  });

  it('swaps at the appointment, on every node', async () => {
    const world = createWorld();
    const jobs = [createJob(world), createJob(world)];
    for (const { rotation } of jobs) await rotation.start();
    world.clock.now += DAY;
    await rotateByHand(world.process(), world.now);
    for (const { rotation } of jobs) await rotation.tick();
    expect(jobs.map(({ rotation }) => rotation.current().active.kid)).toEqual(['k1', 'k1']);
    world.clock.now += 135 * SECOND;
    for (const { rotation } of jobs) await rotation.tick();
    expect(jobs.map(({ rotation }) => rotation.current().active.kid)).toEqual(['k2', 'k2']);
    expect(jobs.map(({ rotation }) => rotation.current().published.map((key) => key.kid))).toEqual([
      ['k2', 'k3', 'k1'],
      ['k2', 'k3', 'k1'],
    ]);
  });

  it('KY-13: keeps an appointment while the store is away', async () => {
    const world = createWorld();
    const { rotation, errors } = createJob(world);
    await rotation.start();
    world.clock.now += DAY;
    await rotation.tick();
    await rotateByHand(world.process(), world.now);
    await rotation.tick();
    world.documents.isDown = true;
    world.clock.now += 135 * SECOND;
    await rotation.tick();
    expect(rotation.current().active.kid).toBe('k2');
    expect(errors).toHaveLength(1);
  });

  it('KY-19: takes a compromised key out at the next turn', async () => {
    const world = createWorld();
    const { rotation } = createJob(world);
    await rotation.start();
    await compromiseKey(world.process(), 'k1', world.now);
    await rotation.refresh();
    expect(rotation.current().active.kid).toBe('k2');
    expect(rotation.current().published.map((key) => key.kid)).toEqual(['k2', 'k3']);
  });

  it('KY-19: does not make a compromise wait for a key that has to be made', async () => {
    const world = createWorld();
    const gate = createGate();
    const { rotation, sets } = createJob(world, {
      keyStore: world.process({
        failpoint: async (name) => {
          if (name === 'generate' && sets.length > 0) await gate.passed;
        },
      }),
    });
    await rotation.start();
    world.clock.now += 29 * DAY;
    await compromiseKey(world.process(), 'k1', world.now);
    world.clock.now += 29 * DAY;
    const turn = rotation.tick();
    await expect.poll(() => sets.at(-1)?.active.kid).toBe('k2');
    gate.open();
    await turn;
    expect(rotation.status().generation).toBe(rotation.status().storedGeneration);
  });

  it('sees a change that is made while a turn is under way', async () => {
    const world = createWorld();
    const { rotation } = createJob(world);
    await rotation.start();
    const turn = rotation.tick();
    const change = compromiseKey(world.process(), 'k1', world.now).then(() => rotation.refresh());
    await Promise.all([turn, change]);
    expect(rotation.current().active.kid).toBe('k2');
  });

  it('goes on with the old key set, and tries again, when the new one can not be swapped in', async () => {
    const world = createWorld();
    const job = createJob(world);
    await job.rotation.start();
    await compromiseKey(world.process(), 'k1', world.now);
    job.failSwap = true;
    await job.rotation.tick();
    expect(job.rotation.current().active.kid).toBe('k1');
    expect(job.rotation.status()).toMatchObject({ generation: 1, storedGeneration: 2 });
    expect(job.errors.length).toBeGreaterThan(0);
    job.failSwap = false;
    await job.rotation.tick();
    expect(job.rotation.current().active.kid).toBe('k2');
  });

  it('KY-21: asks the store for ring and pepper once a turn, and not for the key set', async () => {
    const world = createWorld();
    const { rotation } = createJob(world);
    await rotation.start();
    const before = world.documents.reads;
    for (let count = 0; count < 100; count += 1) rotation.current();
    expect(world.documents.reads).toBe(before);
    await rotation.tick();
    expect(world.documents.reads).toBe(before + 2);
  });

  it('puts back what the store lost in a failover', async () => {
    const world = createWorld();
    const { rotation, errors } = createJob(world);
    await rotation.start();
    const old = world.documents.peek('keys', 'ring');
    await compromiseKey(world.process(), 'k1', world.now);
    await rotation.tick();
    world.documents.force('keys', 'ring', old?.value ?? '', old?.version ?? 0);
    await rotation.tick();
    expect(errors).toMatchObject([{ code: 'rolled_back' }]);
    const ring = await world.process().load();
    expect(ring.keys.map((key) => [key.kid, key.compromisedAt !== undefined])).toEqual([
      ['k1', true],
      ['k2', false],
      ['k3', false],
    ]);
    expect(rotation.status().generation).toBe(3);
  });
});

describe('the lease on signing', () => {
  it('KY-13: ends when the store has been away for as long, and returns with it', async () => {
    const world = createWorld();
    const { rotation } = createJob(world);
    await rotation.start();
    world.documents.isDown = true;
    for (let minute = 0; minute < 10; minute += 1) {
      world.clock.now += MINUTE;
      await rotation.tick();
      expect(rotation.signingAllowed()).toBe(true);
    }
    world.clock.now += 1;
    expect(rotation.signingAllowed()).toBe(false);
    expect(rotation.current().published).toHaveLength(2);
    world.documents.isDown = false;
    await rotation.tick();
    expect(rotation.signingAllowed()).toBe(true);
  });

  it('KY-12: has ended for a process that slept, before it reads anything', async () => {
    const world = createWorld();
    const { rotation } = createJob(world);
    await rotation.start();
    world.clock.now += 60 * DAY;
    expect(rotation.signingAllowed()).toBe(false);
    await rotation.tick();
    expect(rotation.signingAllowed()).toBe(true);
  });

  it('KY-12: ends for a key set that can not be replaced', async () => {
    const world = createWorld();
    const job = createJob(world);
    await job.rotation.start();
    await compromiseKey(world.process(), 'k1', world.now);
    job.failSwap = true;
    world.clock.now += 10 * MINUTE + 1;
    await job.rotation.tick();
    expect(job.rotation.signingAllowed()).toBe(false);
  });

  it('KY-13: ends on a clock that was set back', async () => {
    const world = createWorld();
    const { rotation } = createJob(world);
    await rotation.start();
    world.clock.now -= DAY;
    expect(rotation.signingAllowed()).toBe(false);
  });

  it('KY-13: holds a cut-off node’s JWKS still, because its plan may have been cancelled', async () => {
    const world = createWorld();
    const { rotation } = createJob(world);
    await rotation.start();
    world.clock.now += DAY;
    await rotateByHand(world.process(), world.now);
    await rotation.tick();
    world.documents.isDown = true;
    world.clock.now += 10 * DAY;
    await rotation.tick();
    expect(rotation.current().published.map((key) => key.kid)).toContain('k1');
  });

  it('can not be longer than a removed key would allow', () => {
    const world = createWorld();
    for (const leaseSeconds of [0, -1, 3601, Number.NaN]) {
      expect(() => createJob(world, { leaseSeconds })).toThrow(TypeError);
    }
  });
});

describe('the timer of the rotation job', () => {
  it('polls, and wakes at the appointment when that is sooner', async () => {
    const world = createWorld();
    const { rotation, timers } = createJob(world, { pollMs: 5000 });
    await rotation.start();
    expect(timers.map(({ delayMs }) => delayMs)).toEqual([5000]);
    world.clock.now += DAY;
    await rotateByHand(world.process(), world.now);
    world.clock.now += 133 * SECOND;
    timers[0]?.fire();
    await expect.poll(() => timers.length).toBe(2);
    expect(timers[1]?.delayMs).toBe(2000);
    world.clock.now += 2000;
    timers[1]?.fire();
    await expect.poll(() => timers.length).toBe(3);
    expect(rotation.current().active.kid).toBe('k2');
  });

  it('is silent after the stop', async () => {
    const world = createWorld();
    const { rotation, timers } = createJob(world);
    await rotation.start();
    const turn = rotation.tick();
    await rotation.stop();
    await turn;
    expect(timers.every(({ isCancelled }) => isCancelled)).toBe(true);
    timers[0]?.fire();
    await rotation.tick();
    expect(timers).toHaveLength(1);
  });
});
