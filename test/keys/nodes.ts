// Nodes of one installation inside the test's own process: each a whole service with its own clock, its own listeners and a
// rotation job that turns when the test says so. Owns no expectation.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { loadConfig } from '../../src/config/load.ts';
import { generateKey } from '../../src/keys/generate-key.ts';
import { createKeyStore, type KeyStore } from '../../src/keys/key-store.ts';
import type { Timer } from '../../src/keys/rotation.ts';
import { toTiming, toTimingInput } from '../../src/keys/timing.ts';
import { createVault } from '../../src/keys/vault.ts';
import { createServer } from '../../src/server/server.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import type { Telemetry } from '../../src/observability/telemetry.ts';
import { freePort } from '../world/servers.ts';
import { seedKeys } from '../world/seed-keys.ts';
import { get } from '../world/flows.ts';
import { WORLD_ENV, type World, writeWorldConfig } from '../world/world.ts';

export type NodeOptions = {
  /** `lmdb:FOLDER` or the URL of Redis; a store of its own when absent. */
  readonly store?: string;
  /** Behind which address; its own when absent. */
  readonly issuer?: string;
  readonly now?: () => number;
  readonly telemetry?: Telemetry;
  readonly env?: NodeJS.ProcessEnv;
  readonly config?: Readonly<Record<string, unknown>>;
  /** It makes its keys itself; else an empty store gets some that this process has. */
  readonly hasOwnKeys?: boolean;
};

export type Node = World & {
  /** One turn of the rotation job, as its timer does it. */
  turn(): Promise<void>;
};

/** Looked up at each call, so that it follows a clock that a test moves. */
const now = () => Date.now();

/** Times that let a key rotate three times in a day. */
export const FAST_KEYS = { signing_keys: { rotate_every: '8h', publish_ahead: '2h' } };

export async function startNode(options: NodeOptions = {}): Promise<Node> {
  const folder = await mkdtemp(path.join(tmpdir(), 'postern-keys-'));
  const ports = [await freePort(), await freePort()] as const;
  const written = await writeWorldConfig(folder, options, ports);
  const config = await loadConfig(written.configFile, { env: { ...WORLD_ENV, ...options.env } });
  if (options.hasOwnKeys !== true) {
    const store = await openStore(config.store, options.now ?? now);
    await seedKeys(config, store);
    await store.close();
  }
  const hand = handTimer();
  const service = await createServer(
    { config },
    {
      ...(options.telemetry && { telemetry: options.telemetry }),
      now: options.now ?? now,
      rotationTimer: hand.timer,
    },
  );
  await service.start();
  return {
    ...written,
    folder,
    management: `http://127.0.0.1:${ports[1]}`,
    turn: () => hand.turn(),
    async stop() {
      await service.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function handTimer(): { readonly timer: Timer; turn(): Promise<void> } {
  let fire: (() => void) | undefined;
  let armed: (() => void) | undefined;
  return {
    timer(callback) {
      fire = callback;
      armed?.();
      return () => {
        fire = undefined;
      };
    },
    async turn() {
      const isOver = new Promise<void>((resolve) => {
        armed = resolve;
      });
      fire?.();
      await isOver;
    },
  };
}

export type StoredKeys = { readonly store: Store; readonly keyStore: KeyStore };

/**
 * The key ring of a node, opened beside it as the command line does. While requests are in flight on Redis only: lmdb must
 * not be written through two handles of one process.
 */
export async function withKeys<Result>(
  node: World,
  use: (keys: StoredKeys) => Promise<Result>,
  env: NodeJS.ProcessEnv = {},
): Promise<Result> {
  const config = await loadConfig(node.configFile, { env: { ...WORLD_ENV, ...env } });
  const store = await openStore(config.store, now);
  try {
    const keyStore = createKeyStore({
      documents: store.documents,
      vault: createVault(config.encryptionKeys),
      now,
      timing: toTiming(toTimingInput(config)),
      generateKey: () => generateKey(config.signingKeys.modulus),
    });
    return await use({ store, keyStore });
  } finally {
    await store.close();
  }
}

export async function publishedKids(node: Pick<World, 'base'>): Promise<string[]> {
  const { body } = await get(node, '/oauth/jwks.json');
  return (body['keys'] as { kid: string }[]).map(({ kid }) => kid);
}

export async function readiness(node: Pick<World, 'management'>) {
  const response = await fetch(`${node.management}/readyz`);
  const { problems } = (await response.json()) as { problems: readonly string[] };
  return { status: response.status, problems };
}
