// Runs the same flows on both stores: lmdb in a fresh folder, and a real Redis of its own.
import { afterAll, beforeAll, describe } from 'vitest';
import { type RedisServer, startRedis } from '../servers.ts';
import { startWorld, type StoreName, type OpenWorld, type WorldOptions } from './world.ts';

const STORES: readonly [StoreName][] = [['lmdb'], ['redis']];

/** `tests` gets the running world; one world for each store. */
export function eachStore(
  title: string,
  tests: (world: () => OpenWorld) => void,
  options: WorldOptions = {},
) {
  describe.each(STORES)(`${title}, on %s`, (store) => {
    let redis: RedisServer | undefined;
    let world: OpenWorld | undefined;

    beforeAll(async () => {
      if (store === 'redis') redis = await startRedis();
      world = await startWorld({ ...options, ...(redis && { store: redis.url }) });
    });
    afterAll(async () => {
      await world?.stop();
      await redis?.stop();
    });

    tests(() => running(world));
  });
}

/** One world for all tests of a block, on the embedded store. */
export function useWorld(options: WorldOptions = {}): () => OpenWorld {
  let world: OpenWorld | undefined;
  beforeAll(async () => {
    world = await startWorld(options);
  });
  afterAll(() => world?.stop());
  return () => running(world);
}

function running(world: OpenWorld | undefined): OpenWorld {
  if (world === undefined) throw new Error('the world has not been started');
  return world;
}
