// Runs the same flows on both stores: lmdb in a new folder, and a real Redis of its own. `npm run chaos:flows` runs them on a Cluster only.
import { Redis } from 'ioredis';
import { beforeAll, describe } from 'vitest';
import { startCluster } from './redis-groups.ts';
import { IS_LONG_RUN } from './rounds.ts';
import { startRedis } from './servers.ts';
import { useStarted } from './started.ts';
import { startWorld, type OpenWorld, type WorldOptions } from './world.ts';

type Server = { readonly url: string; stop(): Promise<void> };

type Stores = Readonly<Record<string, () => Promise<Server | undefined>>>;

const CLUSTER: Stores = { 'a Cluster of three masters (RD-11)': () => startCluster() };
const LMDB: Stores = { lmdb: () => Promise.resolve(undefined) };
const EACH = IS_LONG_RUN ? CLUSTER : { ...LMDB, redis: () => startRedis() };
const ANY = IS_LONG_RUN ? CLUSTER : LMDB;

type Tests = (world: () => OpenWorld) => void;

/** The options of the world, if there are any, and the tests. */
type Block = readonly [Tests] | readonly [WorldOptions, Tests] | readonly [Tests, WorldOptions];

/** Runs the tests once for each store, each time with a new world. */
export function eachStore(title: string, ...block: Block) {
  onStores(EACH, title, block);
}

/** For tests that don't depend on the store: the store's own tests cover what it promises. */
export function anyStore(title: string, ...block: Block) {
  onStores(ANY, title, block);
}

function onStores(stores: Stores, title: string, block: Block) {
  const parts: readonly Block[number][] = block;
  const tests = parts.find((part): part is Tests => typeof part === 'function');
  const options = parts.find((part): part is WorldOptions => typeof part === 'object');
  describe.each(Object.entries(stores))(`${title}, on %s`, (_, startStore) => {
    const server = useStarted(startStore);
    const world = useStarted(() => {
      const redis = server();
      return startWorld({ ...options, ...(redis && { store: redis.url }) });
    });
    tests?.(world);
  });
}

/** One world for all tests of a block, on the embedded store. */
export function useWorld(options: WorldOptions = {}): () => OpenWorld {
  return useStarted(() => startWorld(options));
}

type OnRedis = { readonly world: OpenWorld; readonly client: Redis };

/** Like `useWorld`, on a Redis of its own and with a client that reads its contents. */
export function useWorldOnRedis(begin: (opened: OnRedis) => void): void {
  beforeAll(async () => {
    const redis = await startRedis();
    const world = await startWorld({ store: redis.url });
    const client = new Redis(redis.url);
    begin({ world, client });
    return async () => {
      client.disconnect();
      await world.stop();
      await redis.stop();
    };
  });
}
