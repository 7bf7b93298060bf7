// Nodes of one installation inside the test's own process: each is a whole service with its own clock, its own listeners and a
// rotation job that runs when the test says so.
import { loadConfig } from '../../src/config/load.ts';
import type { KeyStore } from '../../src/keys/key-store.ts';
import { keyStoreFor } from '../../src/keys/open-keys.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { get } from '../world/requests.ts';
import { createTurns } from '../world/turns.ts';
import { type OpenWorld, startWorld, type World, WORLD_ENV, type WorldOptions } from '../world/world.ts';

export type Node = OpenWorld & {
  /** Runs the rotation job once, as its timer does. */
  turn(): Promise<void>;
};

/** Times that let a key rotate three times in a day. */
export const FAST_KEYS = { signing_keys: { rotate_every: '8h', publish_ahead: '2h' } };

export async function startNode(options: WorldOptions = {}): Promise<Node> {
  const turns = createTurns();
  const world = await startWorld({ ...options, rotationTimer: turns.timer });
  return { ...world, turn: async () => turns.turn() };
}

export type StoredKeys = { readonly store: Store; readonly keyStore: KeyStore };

/** Runs with the key ring of a node, as the command line changes it: in the open store of a running node, or in one opened for it. */
export async function withKeys<Result>(
  node: World & Partial<Pick<OpenWorld, 'openedStore'>>,
  use: (keys: StoredKeys) => Promise<Result>,
): Promise<Result> {
  const config = await loadConfig(node.configFile, { env: WORLD_ENV });
  const store = node.openedStore ?? (await openStore(config.store, () => Date.now()));
  try {
    return await use({ store, keyStore: keyStoreFor({ ...config, issuer: undefined }, store) });
  } finally {
    if (store !== node.openedStore) await store.close();
  }
}

export async function publishedKids(node: Pick<World, 'base'>): Promise<string[]> {
  const { body } = await get(node, '/oauth/jwks.json');
  return (body['keys'] as { kid: string }[]).map(({ kid }) => kid);
}
