import { afterEach, describe, expect, it } from 'vitest';
import type { KeySet } from '../../../src/keys/key-set.ts';
import type { KeyStore } from '../../../src/keys/key-store.ts';
import { compromiseKey, rotateByHand, runDueSteps } from '../../../src/keys/ring-actions.ts';
import { Rotation } from '../../../src/keys/rotation.ts';
import type { DocumentStore } from '../../../src/store/store.ts';
import { createWorld, DAY, HOUR, MINUTE, SECOND, type World } from './keys.fixture.ts';
import { withMoments } from './moments.fixture.ts';

type Job = {
  readonly rotation: Rotation;
  /** The key sets that the service received. */
  readonly sets: KeySet[];
  readonly errors: unknown[];
  readonly timers: { fire: () => void; delayMs: number; isCancelled: boolean }[];
  failSwap: boolean;
  /** Starts the rotation like the service, after opening the keys. */
  start(): Promise<void>;
  /** Fires the timer, and waits until the next one is set. */
  turn(): Promise<void>;
  current(): KeySet;
};

const started: Rotation[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((rotation) => rotation.stop()));
});

function createJob(world: World, keyStore: KeyStore = world.process()): Job {
  let armed: (() => void) | undefined;
  const job: Job = {
    rotation: new Rotation({
      keyStore,
      onKeySet: (keySet) => {
        if (job.failSwap) throw new Error('the self-test failed');
        job.sets.push(keySet);
      },
      onError: (error) => job.errors.push(error),
      timer: (fire, delayMs) => {
        const timer = { fire, delayMs, isCancelled: false };
        job.timers.push(timer);
        armed?.();
        return () => {
          timer.isCancelled = true;
        };
      },
    }),
    sets: [],
    errors: [],
    timers: [],
    failSwap: false,
    async start() {
      await keyStore.ensure();
      await job.rotation.start();
    },
    async turn() {
      const isOver = new Promise<void>((resolve) => {
        armed = resolve;
      });
      job.timers.at(-1)?.fire();
      await isOver;
    },
    current() {
      const keySet = job.sets.at(-1);
      if (keySet === undefined) throw new Error('no key set yet');
      return keySet;
    },
  };
  started.push(job.rotation);
  return job;
}

async function startJob() {
  const world = createWorld();
  const job = createJob(world);
  await job.start();
  return { world, job };
}

function createGate(): { readonly passed: Promise<void>; open(): void } {
  const listeners: (() => void)[] = [];
  return {
    passed: new Promise((resolve) => listeners.push(resolve)),
    open: () => listeners.forEach((resolve) => resolve()),
  };
}

describe('the rotation job', () => {
  it('KY-13: keeps an appointment while the store is away', async () => {
    const { world, job } = await startJob();
    world.clock.now += DAY;
    await job.turn();
    await rotateByHand(world.process());
    await job.turn();
    world.documents.isDown = true;
    world.clock.now += 135 * SECOND;
    await job.turn();
    expect(job.current().active.kid).toBe('k2');
    expect(job.errors).toHaveLength(1);
  });

  it('KY-19: does not make a compromise wait for a key that has to be made', async () => {
    const world = createWorld();
    const gate = createGate();
    const keyStore = world.process({
      async generateKey(alg) {
        if (job.sets.length > 0) await gate.passed;
        return world.generateKey(alg);
      },
    });
    const job = createJob(world, keyStore);
    await job.start();
    world.clock.now += 29 * DAY;
    await compromiseKey(world.process(), 'k1');
    world.clock.now += 29 * DAY;
    const turn = job.turn();
    await expect.poll(() => job.sets.at(-1)?.active.kid).toBe('k2');
    gate.open();
    await turn;
    expect(job.current().generation).toBe(job.rotation.ring().generation);
  });

  it("goes on with the old key set, and tries again, when the new one can't be swapped in", async () => {
    const { world, job } = await startJob();
    await compromiseKey(world.process(), 'k1');
    job.failSwap = true;
    await job.turn();
    expect(job.current().active.kid).toBe('k1');
    expect(job.current().generation).toBe(1);
    expect(job.rotation.ring().generation).toBe(2);
    expect(job.errors.length).toBeGreaterThan(0);
    job.failSwap = false;
    await job.turn();
    expect(job.current().active.kid).toBe('k2');
  });

  it('KY-21: asks the store for ring and pepper once a turn', async () => {
    const { world, job } = await startJob();
    const before = world.documents.reads;
    await job.turn();
    expect(world.documents.reads).toBe(before + 2);
  });
});

describe('the lease on signing', () => {
  it('KY-12: goes by a second look when the process slept during the first', async () => {
    const world = createWorld();
    let sleep: (() => Promise<void>) | undefined;
    const documents: DocumentStore = {
      ...withMoments(world, () => undefined).documents,
      async getAll(...which) {
        const found = await world.documents.getAll(...which);
        const wake = sleep;
        sleep = undefined;
        await wake?.();
        return found;
      },
    };
    const job = createJob(world, world.process({ documents }));
    await job.start();
    const before = job.current();
    sleep = async () => {
      const other = world.process();
      await rotateByHand(other);
      for (let hour = 0; hour < 5; hour += 1) {
        world.clock.now += HOUR;
        await runDueSteps(other);
      }
    };
    await job.turn();
    expect(job.errors).toEqual([]);
    expect(job.current().published.map((key) => key.kid)).toEqual(['k2', 'k3']);
    expect(job.rotation.signingAllowed()).toBe(true);
    // A request that had already begun would sign with the removed key.
    expect(job.rotation.signingAllowed(before)).toBe(false);
  });

  it("KY-12: ends for a key set that can't be replaced", async () => {
    const { world, job } = await startJob();
    await compromiseKey(world.process(), 'k1');
    job.failSwap = true;
    world.clock.now += 10 * MINUTE + 1;
    await job.turn();
    expect(job.rotation.signingAllowed()).toBe(false);
  });

  it('KY-13: ends on a clock that was set back', async () => {
    const { world, job } = await startJob();
    world.clock.now -= DAY;
    expect(job.rotation.signingAllowed()).toBe(false);
  });

  it('KY-13: holds a cut-off node’s JWKS still, because its plan may have been cancelled', async () => {
    const { world, job } = await startJob();
    world.clock.now += DAY;
    await rotateByHand(world.process());
    await job.turn();
    world.documents.isDown = true;
    world.clock.now += 10 * DAY;
    await job.turn();
    expect(job.current().published.map((key) => key.kid)).toContain('k1');
  });
});

it('what keeps a node from being ready is a new generation that it has not followed for more than 15 s', async () => {
  const { world, job } = await startJob();
  await compromiseKey(world.process(), 'k1');
  job.failSwap = true;
  world.clock.now += 15 * SECOND;
  await job.turn();
  expect(job.rotation.problems()).toEqual([]);
  world.clock.now += SECOND;
  await job.turn();
  expect(job.rotation.problems()).toEqual(['this node serves generation 1 of the key ring, the store has 2']);
});

it('the timer of the rotation job is silent after the stop, which waits for the turn under way', async () => {
  const { world, job } = await startJob();
  await compromiseKey(world.process(), 'k1');
  job.timers[0]?.fire();
  await job.rotation.stop();
  expect(job.current().active.kid).toBe('k2');
  expect(job.timers).toHaveLength(1);
  expect(job.timers[0]?.isCancelled).toBe(true);
});
